-- The ledger of a run. Leases, credits and queues are not here: they are rebuilt.
-- Versions are WeightVersion.pack(): lineage << 40 | step. Numbers of episodes and groups are given by the coordinator.

CREATE TABLE IF NOT EXISTS meta (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL              -- protocol, plan digest, incarnation, lineage, curriculum state
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS task (    -- bodies that source workers made, and rows that could not be made
    entry TEXT NOT NULL,
    split TEXT NOT NULL,             -- train | eval | demos | canary
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

-- An episode is written in three rows, each when its fact is known and none of them rewritten as it grows; the view
-- `episode` joins them. Ask the view.

CREATE TABLE IF NOT EXISTS submission (
    episode INTEGER PRIMARY KEY,
    grp INTEGER NOT NULL,
    sibling INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    ended TEXT,                      -- trained | evaluated | dropped; NULL while in flight
    reason TEXT NOT NULL DEFAULT '', -- DropReason, or cause of an unscored evaluation
    retries INTEGER NOT NULL DEFAULT 0,
    planned_s REAL NOT NULL          -- seconds of the run's clock
);
CREATE INDEX IF NOT EXISTS submission_grp ON submission (grp);

CREATE TABLE IF NOT EXISTS rollout (
    episode INTEGER PRIMARY KEY,
    version INTEGER NOT NULL,        -- that sampled the first token
    trajectory BLOB NOT NULL,        -- msgpack BlobRef
    trace TEXT NOT NULL,             -- JSON of core.trajectory.Trace
    tokens INTEGER NOT NULL,         -- sampled
    trained_tokens INTEGER NOT NULL,
    rolled_s REAL NOT NULL,
    answer INTEGER NOT NULL DEFAULT 0 -- 63-bit digest of the answer; 0 where there is none
);

CREATE TABLE IF NOT EXISTS verdict (
    episode INTEGER PRIMARY KEY,
    reward REAL,                     -- NULL where unscored, never 0 for it
    success INTEGER,
    terms TEXT,                      -- JSON: section.name -> value
    verdict TEXT NOT NULL,           -- JSON of core.verdict.Verdict
    verify_s REAL NOT NULL,
    verified_s REAL NOT NULL
);

CREATE VIEW IF NOT EXISTS episode AS
SELECT
    s.episode, s.grp, s.sibling, s.seed,
    CASE                             -- core.lifecycle.State; leased ones stand as planned or rolled
        WHEN s.ended IS NOT NULL THEN s.ended
        WHEN v.reward IS NOT NULL THEN
            CASE g.state WHEN 'ready' THEN 'grouped' WHEN 'batched' THEN 'batched' ELSE 'scored' END
        WHEN v.episode IS NOT NULL THEN 'unscored'
        WHEN r.episode IS NOT NULL THEN 'rolled'
        ELSE 'planned'
    END AS state,
    s.reason, s.retries, r.version, r.trajectory, r.trace, r.tokens, r.trained_tokens,
    v.reward, v.success, v.terms, v.verdict, v.verify_s, s.planned_s, r.rolled_s, v.verified_s
FROM submission s
JOIN grp g ON g.grp = s.grp
LEFT JOIN rollout r ON r.episode = s.episode
LEFT JOIN verdict v ON v.episode = s.episode;

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
