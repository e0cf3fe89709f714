"""Layout of what the loops over action features read: scaling of columns, kinds of policy."""

COUNT, MEAN, SQUARES, SHIFT, FACTOR, NUMERIC = range(6)  # rows of the array that scales the columns of one side
N_SCALING = 6
BOUNDS, MATCHING, INVERSE_GAP = range(3)  # kinds of policy
