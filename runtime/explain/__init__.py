"""Why a reward is what it is: of an episode, and of a term."""
