import type { Heartbeat } from '@runledger/contracts/events/fleet-event';
import type { RunnerChoice } from '@runledger/contracts/catalogue/runners';

interface HeldByAttempt {
  readonly run_id: string;
  readonly attempt: number;
}

/** The log says that the attempt has ended, and its executor has not said it. */
interface LeftoverAttempt extends HeldByAttempt {
  readonly endedMs: number;
  /** Its heartbeats list it until then. Milliseconds since 1970. */
  readonly untilMs: number;
}

interface LoadedVersion {
  readonly version: string;
  /** What keeps it loaded. */
  readonly runner: RunnerChoice;
  /** Its heartbeats list it from then on. */
  readonly fromMs: number;
}

/** An executor that sends heartbeats. Times are in milliseconds since 1970. */
export interface LivingExecutor {
  readonly id: string;
  draining: boolean;
  /** Of the heartbeats. */
  count: number;
  /** The scheduler has had one since it registered, or since the last reset. */
  isConfirmed: boolean;
  /** It registered, and its first one comes at once. */
  isNew: boolean;
  /** When its next heartbeat comes, at the latest. */
  nextMs: number;
  /** When its last one came, as the fact of its loss says; Infinity for one that was not lost. */
  readonly lastMs: number;
  /** By slot. */
  readonly held: Map<number, HeldByAttempt>;
  /** By slot, until the slot takes another run. */
  readonly leftovers: Map<number, LeftoverAttempt>;
  /** By slot. */
  readonly loaded: Map<number, LoadedVersion>;
}

/** It registers; `known` is what it was before, when it registers again. */
export const livingExecutor = (
  id: string,
  times: Pick<LivingExecutor, 'nextMs' | 'lastMs'>,
  known?: LivingExecutor,
): LivingExecutor => ({
  id,
  ...times,
  draining: false,
  count: known?.count ?? 0,
  isConfirmed: false,
  isNew: true,
  held: known?.held ?? new Map(),
  leftovers: known?.leftovers ?? new Map(),
  loaded: known?.loaded ?? new Map(),
});

/** The heartbeat that confirms the end of one attempt confirms all that had ended before, but for those that end while it is sent. */
export const confirmEnds = ({ leftovers }: LivingExecutor, nowMs: number, takesMs: number): void => {
  if (!leftovers.values().some(({ untilMs }) => untilMs <= nowMs)) return;
  for (const [slot, leftover] of leftovers)
    if (leftover.untilMs !== Infinity && leftover.endedMs + takesMs <= nowMs)
      leftovers.set(slot, { ...leftover, untilMs: Math.min(leftover.untilMs, nowMs) });
};

export const heartbeatOf = (
  { id, count, draining, held, leftovers, loaded }: LivingExecutor,
  nowMs: number,
): Heartbeat => ({
  executor_id: id,
  count,
  draining,
  runs: [...held, ...[...leftovers].filter(([, { untilMs }]) => nowMs < untilMs)].map(
    ([slot, { run_id, attempt }]) => ({ slot, run_id, attempt }),
  ),
  loaded: [...loaded]
    .filter(([, { fromMs }]) => nowMs >= fromMs)
    .map(([slot, { version }]) => ({ slot, workflow_version_id: version })),
});
