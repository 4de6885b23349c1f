import type { Middleware } from 'koa';

/** A path beside the operations of the API, such as an output file. It does everything itself, also authentication. */
export interface PlainRoute {
  readonly method: 'GET' | 'PUT';
  /** In the syntax of the router. */
  readonly path: string;
  readonly serve: Middleware;
  /** The request waits while the log is unavailable, as operations do until they know the caller. */
  readonly needsLog?: true;
}
