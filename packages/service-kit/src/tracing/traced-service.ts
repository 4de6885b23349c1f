import type { Logger } from '../observability/logger.ts';

/** The process that traces come from. */
export interface TracedService {
  readonly service: string;
  readonly instance: string;
  readonly logger: Logger;
  /** How long the last spans may take at the stop while the collector is away. */
  readonly flushWithinMs: number;
}
