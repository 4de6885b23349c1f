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
            const runs = archive?.runs ?? [];
            const archivedTo = archive?.position.sequence ?? Infinity;
            recover(runs, () => {
              // What left the log meanwhile was archived before the runs were read, or they are read again.
              if (log.identity.firstSequence <= archivedTo + 1) projection.endMissed(missed);
            });
          },
        );
      },
    );
  const recover = (run_ids: readonly string[], then: () => void): void => {
    const [now, later] = [run_ids.slice(0, RUNS_AT_ONCE), run_ids.slice(RUNS_AT_ONCE)];
    const work = (): void => {
      for (const run_id of now) {
        const view = recoveredView(views.find(run_id), { life: messagesOf(world, run_id), webhook: [] });
        if (view) views.save([view]);
      }
    };
    const org_ids = now.map((run_id) => log.orgOf(run_id));
    readArchive(world, process, org_ids, work, (done) => {
      if (done && later.length > 0) return recover(later, then);
      if (done) then();
      again();
    });
  };
  again();
};

const hasAllUpTo = ({ log, archive }: Pick<World, 'log' | 'archive'>, sequence: number): boolean => {
  archive?.passLost(log.identity.firstSequence);
  return !archive || archive.position.sequence >= sequence;
};
