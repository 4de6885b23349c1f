import type { Logger } from '../observability/logger.ts';
import { tracesUrl, type TracingSettings } from './tracing-config.ts';

/** The process that traces come from. */
export interface TracedService {
  readonly service: string;
  readonly instance: string;
  readonly logger: Logger;
  /** How long the last spans may take at the stop while the collector is away. */
  readonly flushWithinMs: number;
}

/**
 * Begins to make traces and to send them, when the settings name a collector; otherwise spans cost next to nothing, and
 * the SDK is not even loaded. A process has one.
 */
export const openTracing = async (
  settings: TracingSettings,
  traced: TracedService,
): Promise<AsyncDisposable | undefined> => {
  const url = tracesUrl(settings);
  if (url === undefined) return undefined;
  const { sendTraces } = await import('./send-traces.ts');
  return sendTraces(url, settings, traced);
};
