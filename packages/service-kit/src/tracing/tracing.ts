import { tracesUrl, type TracingSettings } from './tracing-config.ts';
import type { TracedService } from './traced-service.ts';

/**
 * Starts tracing, if the settings name a collector. Otherwise the SDK is not loaded, and spans cost almost nothing. A process
 * calls it once.
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
