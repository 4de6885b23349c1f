import type { RunKey } from '@runledger/contracts/events/subjects';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import pLimit from 'p-limit';
import { goPastMissed } from '../views/project-batch.ts';
import { hasMissed, type Missed, type ProjectionPosition } from '../views/projection-start.decide.ts';
import { recoveredView } from '../views/recovered-view.decide.ts';
import { inBatches } from '../views/rebuild/compare-views.decide.ts';
import type { RunProjection } from '../views/run-projection.ts';
import type { Kit } from '../kit.ts';
import type { Archive } from './archive.ts';

/**
 * Makes the views of runs whose facts left the log before the projection had them, from the archive and what the log still has. An archive that cannot be read is waited for.
 */
export const recoverMissed = async (
  kit: Kit,
  archive: Archive,
  between: RunProjection['between'],
  stop: AbortSignal,
): Promise<void> => {
  const { log, views } = kit;
  // The log may have lost them while no message came by which the projection could notice it.
  const identity = await runsIdentity(log);
  const position = await views.position();
  if (position && hasMissed(position, identity)) await between((at) => goPastMissed(kit, at, identity));
  const missed = (await views.position())?.missed;
  const passed = missed ? await archive.passedUpTo() : 0;
  if (!missed || passed < missed.up_to) return;
  let runs = 0;
  for await (const keys of inBatches(keysOf(archive.runs(missed.after)), RUNS_AT_ONCE)) {
    if (stop.aborted || !(await between((at) => recoverRuns(kit, archive, keys, at)))) return;
    runs += keys.length;
  }
  // What left the log meanwhile, and was not archived before, was perhaps read in neither: all of it again.
  if ((await runsIdentity(log)).firstSequence - 1 > passed) return;
  await between((at) => endMissed(kit, { missed, runs }, at));
};

async function* keysOf(runs: ReturnType<Archive['runs']>): AsyncGenerator<readonly RunKey[]> {
  for await (const { key } of runs) yield [key];
}

/** The projection stands still meanwhile, so that no fact comes between the read of a run and its view. */
const RUNS_AT_ONCE = 32;
const MAX_CONCURRENT = 8;

const recoverRuns = async (
  { views }: Kit,
  archive: Archive,
  keys: readonly RunKey[],
  at: ProjectionPosition,
): Promise<ProjectionPosition> => {
  const present = new Map((await views.load(keys)).map((view) => [view.run.run_id, view]));
  const recovered = await pLimit(MAX_CONCURRENT).map(keys, async (key) => {
    const messages = await archive.read(key);
    return messages && recoveredView(present.get(key.run_id), messages);
  });
  await views.save(recovered.filter((view) => view !== undefined));
  return at;
};

const endMissed = async (
  { views, logger }: Kit,
  { missed, runs }: { readonly missed: Missed; readonly runs: number },
  at: ProjectionPosition,
): Promise<ProjectionPosition | undefined> => {
  // More was missed meanwhile.
  if (at.missed?.up_to !== missed.up_to) return undefined;
  const to = { ...at, missed: null };
  if (!(await views.advance([], at, to))) return undefined;
  logger.warn({ missed, runs }, 'the run views have what the archive has of the facts that they lacked');
  return to;
};
