import { runFilter, parseLifecycleSubject, type RunKey } from '@runledger/contracts/events/subjects';
import { isDeleted, isEnded } from '@runledger/contracts/fold/run';
import { readAllOfRun, type MessagesOfRun } from '@runledger/event-log/read/read-all-of-run';
import { messagesOf } from '@runledger/event-log/read/run-messages';
import { keyedMutex } from '@runledger/resilience/keyed-mutex';
import type { Kit } from '../kit.ts';
import { erasureRecords } from '../records/erasure.ts';
import { outputsToErase } from '../views/run-view.ts';
import { ArchiveUnavailable, type ArchiveObjects } from './archive-objects.ts';
import { beginsWithRun, runToArchive } from './join.decide.ts';
import { countOf, packRun, unpackRun, withoutOutputs } from './run-object.ts';

/** What a client deleted, when its files are erased. */
type Erased = 'run' | 'outputs';

export interface RunArchive {
  /**
   * Makes the object of a run have all that the log has of it and what it had before; or removes it, when the run was deleted and nothing of
   * it is left to erase. May be repeated after any interruption. Resolves with the sequence up to which the log was read.
   * @throws {LogUnavailable} @throws {ViewsUnavailable} @throws {ArchiveUnavailable} that names the object
   */
  readonly archive: (key: RunKey) => Promise<number>;
  /**
   * Takes out of the archive what was deleted, and calls `then`, which says so in the view. Until that is said, the archive may keep it: it
   * names the files, if views are lost. Throws as `archive` does, and what `then` throws.
   */
  readonly erase: (key: RunKey, erased: Erased, then: () => Promise<void>) => Promise<void>;
  /** Resolves when nobody writes any more what was read before. */
  readonly isWritten: () => Promise<void>;
}

/** Who stood still for longer between reading and writing could put back what another one has replaced since. */
const WRITTEN_WITHIN_MS = 30_000;
/** A run that goes on while it is archived is archived again when its next facts are. */
const MOST_TRIES = 10;

export const runArchive = (kit: Kit, objects: ArchiveObjects): RunArchive => {
  const { log, logger, metrics, clock } = kit;
  const erasures = erasureRecords(log);
  const inTurn = keyedMutex();
  const writing = new Set<Promise<unknown>>();
  const inTurnOf = <Result>({ run_id }: RunKey, work: () => Promise<Result>): Promise<Result> => {
    const written = inTurn(run_id, work).finally(() => writing.delete(written));
    writing.add(written);
    return written;
  };

  const archive = async (key: RunKey, erased?: Erased): Promise<number> => {
    for (let tries = 1; ; tries += 1) {
      const began = clock();
      const stored = await readAllOfRun(log, key);
      if (!stored) {
        logger.error(key, 'a run has more messages than a run can have: it is not archived');
        return Infinity;
      }
      const upTo = Math.max(0, ...[...stored.life, ...stored.webhook].map(({ sequence }) => sequence));
      const whatGoes = async (): Promise<Erased | undefined> =>
        (await erasures.find(key.org_id)) ? 'run' : (erased ?? erasedOf(kit, key, stored));
      const goes = await whatGoes();
      if (goes === 'run') {
        await objects.remove(key);
        return upTo;
      }
      if (upTo === 0 && goes === undefined) return 0;
      const before = await objects.get(key);
      const read = before ? unpackRun(key, before, objects.placeOf(key)) : NOTHING;
      // A damaged object is replaced where the log has the whole run.
      const joined = runToArchive(stored, await (beginsWithRun(stored) ? read.catch(() => NOTHING) : read));
      const packed = await packRun(goes === 'outputs' ? withoutOutputs(joined) : joined);
      const isLate = clock() - began > WRITTEN_WITHIN_MS;
      if (isLate && tries >= MOST_TRIES)
        throw new ArchiveUnavailable(`Reading ${objects.placeOf(key)} took too long to write it again.`);
      if (isLate) continue;
      if (countOf(joined) > 0 && before?.equals(packed) !== true) await putVerified(key, packed);
      // So a deletion always wins that comes while the run is written.
      const last = await messagesOf(log).last(runFilter(key));
      const isSame = (last?.sequence ?? 0) <= upTo && (await whatGoes()) === goes;
      if (isSame || tries >= MOST_TRIES) return upTo;
    }
  };

  /** Reads it as a reader would: the log loses these messages, and then nothing else has them. */
  const putVerified = async (key: RunKey, packed: Buffer): Promise<void> => {
    await objects.put(key, packed);
    const back = await objects.get(key);
    if (back?.equals(packed) !== true)
      throw new ArchiveUnavailable(
        `The store gave back other bytes of ${objects.placeOf(key)} than it has taken.`,
      );
    metrics.archive.written(packed.length);
  };

  return {
    archive: (key) => inTurnOf(key, () => archive(key)),
    erase: (key, erased, then) =>
      inTurnOf(key, async () => {
        await archive(key, erased);
        await then();
        // Another gateway may have begun to archive it before the view said so.
        await archive(key, erased);
      }),
    isWritten: async () => void (await Promise.allSettled(writing)),
  };
};

const NOTHING = Promise.resolve<MessagesOfRun>({ life: [], webhook: [] });
const DELETIONS: readonly (string | undefined)[] = ['deleted', 'outputs_deleted'];

/**
 * What was deleted of a run, if nothing of that is left to erase. Until then, and when no view says it, the archive keeps what names the
 * files. @throws {ViewsUnavailable}
 */
const erasedOf = async (
  { views }: Kit,
  key: RunKey,
  { life }: MessagesOfRun,
): Promise<Erased | undefined> => {
  if (!life.some(({ subject }) => DELETIONS.includes(parseLifecycleSubject(subject)?.fact))) return undefined;
  const view = await views.find(key);
  if (!view || outputsToErase(view.run) !== null) return undefined;
  if (isDeleted(view.run)) return 'run';
  return isEnded(view.run) && view.run.deleted_outputs ? 'outputs' : undefined;
};
