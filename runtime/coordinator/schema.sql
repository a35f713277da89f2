-- The ledger of a run. Leases, credits and queues are not here: they are rebuilt.
-- Versions are WeightVersion.pack(): lineage << 40 | step. Numbers of episodes and groups are given by the coordinator.

CREATE TABLE IF NOT EXISTS meta (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL              -- protocol, plan digest, incarnation, lineage, curriculum state
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS task (    -- bodies that source workers made, and rows that could not be made
    entry TEXT NOT NULL,
    split TEXT NOT NULL,             -- train | eval | demos
    idx INTEGER NOT NULL,
    hash TEXT NOT NULL,              -- Task.hash; empty where the row failed
    blob BLOB,                       -- msgpack BlobRef; NULL where the row failed
    failure TEXT NOT NULL DEFAULT '',-- reason, such as bad_row
    detail TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (entry, split, idx)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS grp (     -- siblings of one task
    grp INTEGER PRIMARY KEY,
    entry TEXT NOT NULL,
    split TEXT NOT NULL,
    idx INTEGER NOT NULL,
    stage INTEGER NOT NULL,          -- index of the curriculum stage; -1 for an evaluation
    evaluation TEXT NOT NULL,        -- untrained | before | after ...; empty for training
    size INTEGER NOT NULL,
    oldest INTEGER NOT NULL,         -- version when admitted
    state TEXT NOT NULL,             -- open | ready | batched | trained | evaluated | dropped
    reason TEXT NOT NULL DEFAULT '',
    step INTEGER NOT NULL DEFAULT 0, -- of its batch
    position INTEGER NOT NULL DEFAULT -1
);

CREATE TABLE IF NOT EXISTS episode (
    episode INTEGER PRIMARY KEY,
    grp INTEGER NOT NULL,
    sibling INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    state TEXT NOT NULL,             -- core.lifecycle.State; a leased one stands as planned or rolled
    reason TEXT NOT NULL DEFAULT '', -- DropReason, or cause of unscored
    retries INTEGER NOT NULL DEFAULT 0,
    version INTEGER,                 -- that sampled the first token
    trajectory BLOB,                 -- msgpack BlobRef
    trace TEXT,                      -- JSON of core.trajectory.Trace
    trained_tokens INTEGER,
    reward REAL,                     -- NULL where unscored, never 0 for it
    success INTEGER,
    terms TEXT,                      -- JSON: section.name -> value
    verdict TEXT,                    -- JSON of core.verdict.Verdict
    verify_s REAL,
    planned_s REAL NOT NULL,         -- seconds of the run's clock
    rolled_s REAL,
    verified_s REAL
);
CREATE INDEX IF NOT EXISTS episode_grp ON episode (grp);

CREATE TABLE IF NOT EXISTS batch (   -- what one step consumes; the same in every lineage
    step INTEGER PRIMARY KEY,
    stage INTEGER NOT NULL,
    stage_step INTEGER NOT NULL,
    body BLOB NOT NULL,              -- msgpack core.group.Batch, rewards as they are trained
    shuffled INTEGER NOT NULL,       -- 1 where rewards were permuted inside groups, as a control
    taken_s REAL NOT NULL
);

CREATE TABLE IF NOT EXISTS commits ( -- one row per lineage and step
    version INTEGER PRIMARY KEY,
    metrics TEXT NOT NULL,           -- JSON
    advantages BLOB NOT NULL,        -- msgpack [episodes, advantages] as core.array.Array
    wait_s REAL NOT NULL,
    busy_s REAL NOT NULL,
    at_s REAL NOT NULL
);

CREATE TABLE IF NOT EXISTS checkpoint (
    version INTEGER PRIMARY KEY,
    folder TEXT NOT NULL,
    digest TEXT NOT NULL,
    at_s REAL NOT NULL
);

CREATE TABLE IF NOT EXISTS weights ( -- published versions
    version INTEGER PRIMARY KEY,
    folder TEXT NOT NULL,
    digest TEXT NOT NULL,
    at_s REAL NOT NULL
);

CREATE TABLE IF NOT EXISTS quarantine (
    entry TEXT NOT NULL,
    split TEXT NOT NULL,
    idx INTEGER NOT NULL,
    deaths INTEGER NOT NULL,         -- quarantined once this reaches the limit
    is_out INTEGER NOT NULL,
    story TEXT NOT NULL,
    PRIMARY KEY (entry, split, idx)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS evaluation (
    name TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    state TEXT NOT NULL,             -- open | done
    at_s REAL NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS log (     -- what happened to the run itself: workers, stages, lineages, alarms
    n INTEGER PRIMARY KEY,
    at_s REAL NOT NULL,
    what TEXT NOT NULL,
    detail TEXT NOT NULL
);
