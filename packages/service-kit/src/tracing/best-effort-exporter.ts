import { ExportResultCode } from '@opentelemetry/core';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { Logger } from '../observability/logger.ts';

export interface BestEffortOptions {
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  /** Host and port, for people. */
  readonly collector: string;
}

const WARN_EVERY_MS = 60_000;

/** Spans that the collector does not accept are lost. The service continues, and logs a warning at most once a minute. */
export const bestEffortExporter = (
  exporter: SpanExporter,
  { logger, collector }: BestEffortOptions,
): SpanExporter => {
  let lost = 0;
  let warnedAt = -Infinity;
  const failed = (spans: number, error: Error | undefined): void => {
    lost += spans;
    const now = performance.now();
    if (now - warnedAt < WARN_EVERY_MS) return;
    warnedAt = now;
    const why = error === undefined || error.message === '' ? 'no answer' : error.message;
    logger.warn(
      { collector, lost, why },
      'traces could not be sent and are lost: check the collector, and OTEL_EXPORTER_OTLP_ENDPOINT (OTLP over HTTP, usually port 4318)',
    );
  };
  const sent = (): void => {
    if (lost > 0) logger.info({ collector, lost }, 'traces are sent again');
    lost = 0;
    warnedAt = -Infinity;
  };
  return {
    export: (spans, done) =>
      exporter.export(spans, ({ code, error }) => {
        if (code === ExportResultCode.SUCCESS) sent();
        else failed(spans.length, error);
        done({ code: ExportResultCode.SUCCESS });
      }),
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  };
};
