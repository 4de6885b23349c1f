import { recoveredView } from '@runledger/gateway/views/recovered-view.decide';
import type { World } from '../broker/world.ts';
import type { Process } from '../virtual-time.ts';
import { messagesOf, readArchive } from './archiver.ts';
import type { Projection } from './projection.ts';

const ASK_WITHIN_MS = 5_000;
/** Views that are made while the projection stands still. */
const RUNS_AT_ONCE = 4;

export interface RecoveryOptions {
  readonly process: Process;
  readonly projection: Projection;
  readonly everyMs: number;
}

/** As services/gateway/src/archive/recover-missed.ts: makes views from the archive when facts left the log before they had them. */
export const openRecovery = (world: World, { process, projection, everyMs }: RecoveryOptions): void => {
  const { broker, log, views, archive } = world;
  const again = (): void => process.after(everyMs, look);
  const look = (): void =>
    broker.ask(
      process,
      ASK_WITHIN_MS,
      () => log.identity,
      (identity) => {
        if (identity) projection.goPastMissed(identity);
        const missed = views.position?.missed;
        if (!identity || !missed) return again();
        broker.ask(
          process,
          ASK_WITHIN_MS,
          () => hasAllUpTo(world, missed.up_to),
          (hasAll) => {
            if (!hasAll) return again();
            const runs = (archive?.runs ?? []).filter(
              (run_id) => missed.of?.includes(log.orgOf(run_id)) ?? true,
            );
            const archivedTo = archive?.position.sequence ?? Infinity;
            recover(runs, new Set(), (failed) => {
              // What left the log meanwhile was archived before the runs were read, or they are read again.
              if (log.identity.firstSequence <= archivedTo + 1) projection.endMissed(missed, failed);
              again();
            });
          },
        );
      },
    );
  /** Some runs of one organisation, then the others. One of which an object cannot be read waits for the next round. */
  const recover = (
    run_ids: readonly string[],
    failed: ReadonlySet<string>,
    then: (failed: ReadonlySet<string>) => void,
  ): void => {
    const [first] = run_ids;
    if (first === undefined) return then(failed);
    const org_id = log.orgOf(first);
    const now = run_ids.filter((run_id) => log.orgOf(run_id) === org_id).slice(0, RUNS_AT_ONCE);
    const work = (): void => {
      for (const run_id of now) {
        const view = recoveredView(views.find(run_id), { life: messagesOf(world, run_id), webhook: [] });
        if (view) views.save([view]);
      }
    };
    readArchive(world, process, [org_id], work, (done) => {
      const later = run_ids.filter((run_id) => (done ? !now.includes(run_id) : log.orgOf(run_id) !== org_id));
      recover(later, done ? failed : new Set([...failed, org_id]), then);
    });
  };
  again();
};

const hasAllUpTo = ({ log, archive }: Pick<World, 'log' | 'archive'>, sequence: number): boolean => {
  archive?.passLost(log.identity.firstSequence);
  return !archive || archive.position.sequence >= sequence;
};
