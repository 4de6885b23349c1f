import type { Logger } from '@runledger/event-log/connect/logger';
import type { OutputUrls } from '@runledger/webhooks/signing/output-urls';
import type { PlainRoute } from '../http/plain-route.ts';
import type { OutputStore } from './store/output-store.ts';
import { serveRoute } from './serve-route.ts';

export interface OutputRoutes {
  readonly store: OutputStore;
  readonly urls: Pick<OutputUrls, 'check'>;
  /** Reading a file needs the broker. */
  readonly readNeedsLog: boolean;
  readonly logger: Logger;
}

/** Anyone who knows the address of a file may read it, while the address is valid. */
export const outputRoutes = ({ store, urls, readNeedsLog, logger }: OutputRoutes): PlainRoute[] => [
  {
    method: 'GET',
    path: '/outputs/:key/:filename',
    serve: serveRoute({ store, urls, logger }),
    ...(readNeedsLog ? { needsLog: true } : {}),
  },
];
