import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import type { PlainRoute } from '../http/plain-route.ts';
import type { OutputStore } from './store/output-store.ts';
import { serveRoute } from './serve-route.ts';
import { uploadReservations } from './upload-reservations.ts';
import { uploadRoute } from './upload-route.ts';

export interface OutputRoutes {
  readonly config: {
    readonly RUNLEDGER_OUTPUT_FILE_MAX_BYTES: number;
    readonly RUNLEDGER_OUTPUT_RUN_MAX_BYTES: number;
    readonly RUNLEDGER_OUTPUT_MAX_FILES: number;
  };
  readonly log: EventLog;
  readonly store: OutputStore;
  /** Reading a file needs the broker. */
  readonly readNeedsLog: boolean;
  readonly logger: Logger;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  readonly onUploaded: (bytes: number) => void;
}

/** Executors store output files, and anyone who knows the address of a file may read it. */
export const outputRoutes = ({
  config,
  log,
  store,
  readNeedsLog,
  logger,
  clock,
  onUploaded,
}: OutputRoutes): PlainRoute[] => {
  const reservations = uploadReservations(log, {
    runBytes: config.RUNLEDGER_OUTPUT_RUN_MAX_BYTES,
    files: config.RUNLEDGER_OUTPUT_MAX_FILES,
  });
  const maxFileBytes = config.RUNLEDGER_OUTPUT_FILE_MAX_BYTES;
  return [
    {
      method: 'PUT',
      path: '/executions/:org_id/:run_id/:attempt/outputs',
      serve: uploadRoute({ log, store, reservations, maxFileBytes, logger, clock, onUploaded }),
      needsLog: true,
    },
    {
      method: 'GET',
      path: '/outputs/:key/:filename',
      serve: serveRoute({ store, logger }),
      ...(readNeedsLog ? { needsLog: true } : {}),
    },
  ];
};
