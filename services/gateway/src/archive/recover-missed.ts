import { isDeepStrictEqual } from 'node:util';
import type { OrgId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { goPastMissed } from '../views/project-batch.ts';
import { hasMissed, type ProjectionPosition } from '../views/projection-start.decide.ts';
import type { RunProjection } from '../views/run-projection.ts';
import type { Kit } from '../kit.ts';
import { ArchiveUnavailable } from './archive-objects.ts';
import type { Archive } from './archive.ts';

/** The projection stands still meanwhile, so that no fact comes between the read of a run and its view. */
const RUNS_AT_ONCE = 32;
/** Of the time that it took: a store that does not answer holds up the projection no more than a quarter of it. */
const PAUSE = 3;
/** More organisations are everybody. */
const MOST_NAMED = 1_000;

/**
 * Makes the views of runs whose facts left the log before the projection had them, from the archive and what the log still has. An
 * organisation of which an object cannot be read lacks facts until it can; the views of the others are whole.
 */
export const recoverMissed = (
  kit: Kit,
  archive: Archive,
  between: RunProjection['between'],
): ((stop: AbortSignal) => Promise<void>) => {
  const { log, views, logger, clock } = kit;
  let againAt = -Infinity;
  return async (stop) => {
    // The log may have lost them while no message came by which the projection could notice it.
    const identity = await runsIdentity(log);
    const position = await views.position();
    if (position && hasMissed(position, identity)) await between((at) => goPastMissed(kit, at, identity));
    const missed = (await views.position())?.missed;
    if (!missed || clock() < againAt) return;
    const passed = await archive.passedUpTo();
    if (passed < missed.up_to) return;
    const failed = new Map<OrgId, ArchiveUnavailable>();
    const began = clock();
    let runs = 0;
    for (const org_id of missed.of ?? [undefined])
      for await (const page of archive.keys(org_id)) {
        for (let from = 0; from < page.length; from += RUNS_AT_ONCE) {
          const recover = async (at: ProjectionPosition): Promise<ProjectionPosition> => {
            await recoverRuns(kit, archive, page.slice(from, from + RUNS_AT_ONCE), failed);
            return at;
          };
          if (stop.aborted || !(await between(recover))) return;
        }
        runs += page.length;
      }
    // What left the log meanwhile, and was not archived before, was perhaps read in neither: all of it again.
    if ((await runsIdentity(log)).firstSequence - 1 > passed) return;
    againAt = clock() + PAUSE * (clock() - began);
    await between(async (at) => {
      const of = failed.size > MOST_NAMED ? null : [...failed.keys()];
      const left = failed.size === 0 ? null : { ...missed, of };
      // More was missed meanwhile, or nothing is left that could be read now.
      if (!isDeepStrictEqual(at.missed, missed) || isDeepStrictEqual(left, missed)) return undefined;
      const to = { ...at, missed: left };
      if (!(await views.advance([], at, to))) return undefined;
      logger.warn({ missed, runs }, 'the run views have what the archive has of the facts that they lacked');
      return to;
    });
    if (failed.size > 0)
      throw new AggregateError(failed.values(), `views of ${failed.size} organisations lack facts`);
  };
};

/** Each organisation ends with its first failure, so a store that does not answer is waited for once. */
const recoverRuns = async (
  { views }: Kit,
  { run }: Archive,
  keys: readonly RunKey[],
  failed: Map<OrgId, ArchiveUnavailable>,
): Promise<void> => {
  const present = new Map((await views.load(keys)).map((view) => [view.run.run_id, view]));
  const reading = keys.map(async (key) => {
    if (failed.has(key.org_id)) return undefined;
    try {
      return await run(key, present.get(key.run_id));
    } catch (error) {
      if (!(error instanceof ArchiveUnavailable)) throw error;
      failed.set(key.org_id, error);
      return undefined;
    }
  });
  await views.save((await Promise.all(reading)).filter((view) => view !== undefined));
};
