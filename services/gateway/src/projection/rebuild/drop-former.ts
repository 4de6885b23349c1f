import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import { runsIdentity } from '@runledger/event-log/messages/stream-identity';
import type { RunProjection } from '../run-projection.ts';
import type { ViewStore } from '../run-views.ts';
import { whileProjecting } from '../while-projecting.ts';

export interface DropFormerOptions {
  readonly log: EventLog;
  readonly logger: Logger;
  readonly views: Pick<ViewStore, 'dropFormer'>;
  readonly projection: Pick<RunProjection, 'position'>;
}

const LOOK_EVERY_MS = 3_600_000;

/** Drops views of former versions when a rollback to them could not make them whole any more. */
export const openFormerDrops = ({ log, logger, views, projection }: DropFormerOptions): AsyncDisposable =>
  whileProjecting({
    failure: 'views of former versions could not be dropped',
    everyMs: LOOK_EVERY_MS,
    isProjecting: () => projection.position() !== undefined,
    logger,
    work: async () => {
      const versions = await views.dropFormer(await runsIdentity(log));
      if (versions.length > 0)
        logger.info(
          { versions },
          'views of former versions are dropped: the log has lost facts that they lack',
        );
    },
  });
