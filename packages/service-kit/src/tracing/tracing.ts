import { tracesUrl, type TracingSettings } from './tracing-config.ts';
import type { TracedService } from './traced-service.ts';

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
