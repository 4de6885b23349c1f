import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { parseKeyPairsIntoRecord, W3CTraceContextPropagator, ExportResultCode } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type Sampler,
  type SpanExporter,
} from '@opentelemetry/sdk-trace';
import { within } from '@runledger/resilience/within';
import packageJson from '../package.json' with { type: 'json' };
import type { TracedService, TracingSettings } from './tracing-config.ts';
import type { Logger } from './logger.ts';

/** Spans that wait for a slow or unavailable collector; more are dropped. A span has a few hundred bytes. */
const MAX_QUEUED = 2_048;
const MAX_ATTRIBUTE_LENGTH = 256;
const SEND_EVERY_MS = 2_000;
const SEND_WITHIN_MS = 5_000;

/** Records the spans of this process and sends them to the collector, until dispose. */
export const sendTraces = (
  url: string,
  settings: TracingSettings,
  { service, instance, logger, flushWithinMs }: TracedService,
): AsyncDisposable => {
  const exporter = new OTLPTraceExporter({
    url,
    headers: parseKeyPairsIntoRecord(settings.OTEL_EXPORTER_OTLP_HEADERS),
    timeoutMillis: SEND_WITHIN_MS,
  });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      ...parseKeyPairsIntoRecord(settings.OTEL_RESOURCE_ATTRIBUTES),
      'service.namespace': 'runledger',
      'service.name': service,
      // All workspaces have the version of the release.
      'service.version': packageJson.version,
      'service.instance.id': instance,
    }),
    sampler: samplerOf(settings),
    spanLimits: { attributeValueLengthLimit: MAX_ATTRIBUTE_LENGTH },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: bestEffortExporter(exporter, { logger, collector: new URL(url).host }),
        maxQueueSize: MAX_QUEUED,
        scheduledDelayMillis: SEND_EVERY_MS,
      }),
    ],
  });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  return {
    [Symbol.asyncDispose]: async () => {
      const sent = provider.shutdown().catch(() => undefined);
      await within(flushWithinMs, sent, () => undefined);
      trace.disable();
      context.disable();
      propagation.disable();
    },
  };
};

const samplerOf = (settings: TracingSettings): Sampler => {
  const byRatio = (): Sampler => new TraceIdRatioBasedSampler(settings.OTEL_TRACES_SAMPLER_ARG);
  switch (settings.OTEL_TRACES_SAMPLER) {
    case 'always_on':
      return new AlwaysOnSampler();
    case 'always_off':
      return new AlwaysOffSampler();
    case 'traceidratio':
      return byRatio();
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: new AlwaysOnSampler() });
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: new AlwaysOffSampler() });
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: byRatio() });
  }
};

interface BestEffortOptions {
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  /** Host and port, for people. */
  readonly collector: string;
}

const WARN_EVERY_MS = 60_000;

/** Spans that the collector does not accept are lost. The service continues, and logs a warning at most once a minute. */
const bestEffortExporter = (
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
