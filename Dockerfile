# The decision service. docker build -t noisewise . ; compose.yaml runs it with PostgreSQL.
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src src
RUN python -m venv /opt/noisewise \
 && /opt/noisewise/bin/pip install --no-cache-dir --constraint constraints.txt ".[serve]"

FROM python:3.13-slim
RUN useradd --system --create-home --home-dir /var/lib/noisewise noisewise
COPY --from=build /opt/noisewise /opt/noisewise
ENV PATH=/opt/noisewise/bin:$PATH NUMBA_CACHE_DIR=/var/lib/noisewise/compiled
USER noisewise
WORKDIR /var/lib/noisewise
VOLUME /var/lib/noisewise
EXPOSE 8000
HEALTHCHECK --interval=10s --start-period=30s CMD \
  ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/readyz')"]
ENTRYPOINT ["noisewise"]
CMD ["serve", "--host", "0.0.0.0", "--store", "sqlite:////var/lib/noisewise/log.db", "--keys", "/etc/noisewise/keys"]
