import { setTimeout as pause } from 'node:timers/promises';
import { healthPage } from '@runledger/testing/health-pages';
import type { RandomSource } from '@runledger/testing/random-source';
import type { ArchiveFailure, FailedObjects } from '../cluster/archive-store.ts';
import { now } from '../cluster/clock.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Size } from '../size.ts';

/** What happens to the archived objects of some organisations. */
interface PlannedArchiveFault {
  readonly kind: ArchiveFailure;
  /** From the end of the last one, in milliseconds. */
  readonly afterMs: number;
  /** From the first answer that is wrong. */
  readonly forMs: number;
  /** Numbers of organisations of the cluster. */
  readonly hit: readonly number[];
}

/** A fault that came. Times are milliseconds since the epoch. */
export interface ArchiveFault extends FailedObjects {
  readonly kind: ArchiveFailure;
  readonly org_ids: readonly string[];
  readonly from: number;
  /** When the objects were back. */
  readonly to: number;
}

/** A gateway said that these organisations are not archived. */
interface NamedBehind {
  readonly at: number;
  readonly org_ids: readonly string[];
}

export interface ArchiveTrouble {
  readonly faults: readonly ArchiveFault[];
  readonly named: readonly NamedBehind[];
}

export const NO_ARCHIVE_TROUBLE: ArchiveTrouble = { faults: [], named: [] };

/** Whether the archive of this soak is a store of its own, whose objects fail. That of other seeds is in the broker. */
export const hasArchiveStore = (seed: number): boolean => Math.floor(seed / 2) % 2 === 1;

const KINDS: readonly ArchiveFailure[] = ['missing', 'damaged', 'slow'];

/** Two of these have many runs, and none deletes any: what it replaced while it was missing would be a part of the run. */
const ORGANISATIONS = 5;
const OWN = ORGANISATIONS - 1;

/** Of the age of a log that forgets: what is not archived for longer is lost, as it would be in production. */
const MOST_OF_LOG_AGE = 1 / 8;

/**
 * The same random numbers give the same faults. Each kind comes before the first one comes again. While a log forgets that keeps its
 * messages for a short time, objects are only missing: then what follows is archived all the same.
 */
export const archiveSchedule = (
  random: RandomSource,
  size: Size,
  forgets: boolean,
): PlannedArchiveFault[] => {
  const { minutes, archiveFaultGapMs, archiveFaultMs, shortLogAgeMs } = size;
  const isTight = forgets && archiveFaultMs[1] > shortLogAgeMs * MOST_OF_LOG_AGE;
  const endsAt = minutes * 60_000;
  const faults: PlannedArchiveFault[] = [];
  let left: ArchiveFailure[] = [];
  for (let at = 0; ;) {
    if (left.length === 0) left = random.shuffled(KINDS);
    const next = left.pop() ?? 'missing';
    const kind = isTight && at >= endsAt / 3 ? 'missing' : next;
    const [afterMs, forMs] = [random.integer(...archiveFaultGapMs), random.integer(...archiveFaultMs)];
    const others = random.integer(1, kind === 'missing' ? OWN - 1 : OWN);
    at += afterMs + forMs;
    if (at > endsAt) return faults;
    faults.push({ kind, afterMs, forMs, hit: [0, others] });
  }
};

/** Those of the cluster, in the order of the numbers of a plan: the glutton first, the one whose clients delete runs last. */
export const archivedOrganisations = ({ glutton, sharing, organisation }: Cluster) =>
  [glutton, ...sharing.greedy, sharing.modest, organisation] as const;

/** Lets objects fail and puts them back, one fault after the other. Resolves when all are back. */
export const injectArchiveFaults = async (
  planned: readonly PlannedArchiveFault[],
  cluster: Cluster,
  endedRuns: () => ReadonlySet<string>,
): Promise<ArchiveTrouble> => {
  const { archive } = cluster;
  if (!archive) return NO_ARCHIVE_TROUBLE;
  const ids = archivedOrganisations(cluster).map(({ org_id }) => org_id);
  const [faults, named, over]: [ArchiveFault[], NamedBehind[], AbortController] = [
    [],
    [],
    new AbortController(),
  ];
  const watched = watchNames(cluster.health, named, over.signal);
  for (const { kind, afterMs, forMs, hit } of planned) {
    await pause(afterMs);
    const org_ids = hit.flatMap((number) => ids[number] ?? []);
    const from = now();
    const { wasSeen, putBack } = archive.fail(org_ids, kind, endedRuns());
    // Its time begins when somebody asks: gateways are killed and paused meanwhile.
    for (const deadline = from + PATIENCE_MS; !wasSeen() && now() < deadline;) await pause(LOOK_EVERY_MS);
    await pause(forMs);
    faults.push({ kind, org_ids, from, to: now(), ...putBack() });
  }
  over.abort();
  await watched;
  return { faults, named };
};

const LOOK_EVERY_MS = 1_000;
const PATIENCE_MS = 30_000;

/** Who is behind, as gateways say it to an operator. */
const watchNames = async (
  health: readonly string[],
  named: NamedBehind[],
  over: AbortSignal,
): Promise<void> => {
  while (!over.aborted) {
    for (const url of health) named.push({ at: now(), org_ids: await namedAt(url) });
    await pause(LOOK_EVERY_MS);
  }
};

/** Nobody, where the gateway does not answer. */
export const namedAt = async (health: string): Promise<string[]> => {
  try {
    const text = await (await healthPage(health, '/readyz', { withinMs: LOOK_EVERY_MS * 5 })).text();
    return [...text.matchAll(/([0-9a-f-]{36}) since /g)].map(([, org_id = '']) => org_id);
  } catch {
    return [];
  }
};
