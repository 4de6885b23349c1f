import type { Logger } from '@runledger/event-log/connect/logger';
import type { PlainRoute } from '../http/plain-route.ts';
import type { OutputStore } from './store/output-store.ts';
import { serveRoute } from './serve-route.ts';

export interface OutputRoutes {
  readonly store: OutputStore;
  /** Reading a file needs the broker. */
  readonly readNeedsLog: boolean;
  readonly logger: Logger;
}

/** Anyone who knows the address of a file may read it. */
export const outputRoutes = ({ store, readNeedsLog, logger }: OutputRoutes): PlainRoute[] => [
  {
    method: 'GET',
    path: '/outputs/:key/:filename',
    serve: serveRoute({ store, logger }),
    ...(readNeedsLog ? { needsLog: true } : {}),
  },
];
