"""Learn what is true from labels, clicks and sensors that are not."""
