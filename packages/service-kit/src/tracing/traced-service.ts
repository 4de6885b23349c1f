import type { Logger } from '../observability/logger.ts';

/** The process that makes the traces. */
export interface TracedService {
  readonly service: string;
  readonly instance: string;
  readonly logger: Logger;
  /** The time limit at the stop for the last spans, if the collector is unavailable. */
  readonly flushWithinMs: number;
}
