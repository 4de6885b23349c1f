import { Type } from 'typebox';
import { oneOf, secret, url } from './config-schemas.ts';
import type { Logger } from './logger.ts';

/** https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ */
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

type SamplerName = (typeof SAMPLERS)[number];

const PAIRS = '^[^=,]+=[^,]*(,[^=,]+=[^,]*)*,?$';

/** The environment variables of OpenTelemetry that every service reads, under their standard names. */
export const tracingConfig = {
  OTEL_EXPORTER_OTLP_ENDPOINT: Type.Optional(
    url({
      description:
        'an OpenTelemetry collector, such as http://127.0.0.1:4318, which gets traces over HTTP (protobuf) at /v1/traces; no traces by default',
    }),
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: Type.Optional(
    url({ description: 'the complete URL for traces, instead of OTEL_EXPORTER_OTLP_ENDPOINT' }),
  ),
  OTEL_EXPORTER_OTLP_HEADERS: Type.Optional(
    Type.String({
      ...secret({ description: 'headers for the collector, such as api-key=value,other=value' }),
      pattern: PAIRS,
    }),
  ),
  OTEL_TRACES_SAMPLER: oneOf([...SAMPLERS], {
    default: 'parentbased_always_on',
    description: 'which traces are sampled; the parentbased samplers follow the traceparent of the request',
  }),
  OTEL_TRACES_SAMPLER_ARG: Type.Number({
    default: 1,
    minimum: 0,
    maximum: 1,
    description: 'the fraction of traces that a ratio sampler keeps',
  }),
  OTEL_RESOURCE_ATTRIBUTES: Type.Optional(
    Type.String({
      pattern: PAIRS,
      description: 'attributes of this process in every trace, such as deployment.environment.name=staging',
    }),
  ),
  OTEL_SDK_DISABLED: Type.Boolean({
    default: false,
    description: 'makes no traces, even if a collector is set',
  }),
};

/** The values of `tracingConfig`. */
export interface TracingSettings {
  readonly OTEL_EXPORTER_OTLP_ENDPOINT?: string;
  readonly OTEL_EXPORTER_OTLP_TRACES_ENDPOINT?: string;
  readonly OTEL_EXPORTER_OTLP_HEADERS?: string;
  readonly OTEL_TRACES_SAMPLER: SamplerName;
  readonly OTEL_TRACES_SAMPLER_ARG: number;
  readonly OTEL_RESOURCE_ATTRIBUTES?: string;
  readonly OTEL_SDK_DISABLED: boolean;
}

/** The URL for traces; undefined if none are made. */
export const tracesUrl = (settings: TracingSettings): string | undefined => {
  if (settings.OTEL_SDK_DISABLED) return undefined;
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: whole } = settings;
  return whole ?? (base === undefined ? undefined : `${base.replace(/\/$/, '')}/v1/traces`);
};

/** The process that makes the traces. */
export interface TracedService {
  readonly service: string;
  readonly instance: string;
  readonly logger: Logger;
  /** The time limit at the stop for the last spans, if the collector is unavailable. */
  readonly flushWithinMs: number;
}
