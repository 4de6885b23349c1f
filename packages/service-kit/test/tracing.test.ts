import { createServer } from 'node:http';
import { Type } from 'typebox';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { readConfig, type Environment } from '../src/config.ts';
import { listen } from '../src/listen.ts';
import { createLogger } from '../src/logger.ts';
import { activeTraceparent, inSpan } from '../src/spans.ts';
import { tracingConfig } from '../src/tracing-config.ts';
import { openTracing } from '../src/configured-service.ts';
import { openOtlpReceiver, type OtlpReceiver } from './stand-ins/otlp-receiver.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SAMPLED = `00-${TRACE}-00f067aa0ba902b7-01`;
const NOT_SAMPLED = `00-${TRACE}-00f067aa0ba902b7-00`;

const lines: Record<string, unknown>[] = [];
const logger = createLogger({
  service: 'a-service',
  level: 'info',
  destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
});

let open: AsyncDisposable | undefined;
const start = async (env: Environment, flushWithinMs = 30_000): Promise<void> => {
  const settings = readConfig(Type.Object(tracingConfig), env);
  open = await openTracing(settings, {
    service: 'a-service',
    instance: 'a-service-1',
    logger,
    flushWithinMs,
  });
};
/** Sends what is left. */
const stop = async (): Promise<void> => {
  await open?.[Symbol.asyncDispose]();
  open = undefined;
};

afterEach(async () => {
  await stop();
  lines.length = 0;
});

const aSpan = (
  parent: string | null,
  work: () => Promise<unknown> = async () => undefined,
): Promise<unknown> =>
  inSpan('work', { kind: 'internal', parent, attributes: { 'runledger.run_id': 'r' } }, work);

describe('a service whose settings name a collector', () => {
  const to = ({ url }: OtlpReceiver): Environment => ({ OTEL_EXPORTER_OTLP_ENDPOINT: url });

  it('sends its spans with their parents and the name of the service', async () => {
    await using collector = await openOtlpReceiver();
    await start({
      ...to(collector),
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=ours,api-key=a%20key',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=another',
    });
    await aSpan(SAMPLED, () => inSpan('part', { kind: 'client', attributes: {} }, async () => undefined));
    await stop();

    const [part, work] = collector.spans;
    expect(work).toMatchObject({
      trace_id: TRACE,
      parent_span_id: '00f067aa0ba902b7',
      name: 'work',
      kind: 'internal',
      failed: false,
      attributes: { 'runledger.run_id': 'r' },
      resource: {
        'service.namespace': 'runledger',
        'service.name': 'a-service',
        'service.instance.id': 'a-service-1',
        'service.version': expect.stringMatching(/^\d+\.\d+\.\d+/),
        'deployment.environment.name': 'test',
      },
    });
    expect(part).toMatchObject({
      trace_id: TRACE,
      parent_span_id: work?.span_id,
      name: 'part',
      kind: 'client',
    });
    expect(collector.headers).toMatchObject([{ 'x-tenant': 'ours', 'api-key': 'a key' }]);
  });

  it('propagates its span, and logs its id', async () => {
    await using collector = await openOtlpReceiver();
    await start(to(collector));
    let handedOn: string | undefined;
    await aSpan(SAMPLED, async () => {
      handedOn = activeTraceparent();
      logger.info('within');
    });
    logger.info('after');
    await stop();

    const [{ span_id } = { span_id: '' }] = collector.spans;
    expect(handedOn).toBe(`00-${TRACE}-${span_id}-01`);
    expect(lines).toMatchObject([{ msg: 'within', trace_id: TRACE, span_id }, { msg: 'after' }]);
    expect(lines[1]).not.toHaveProperty('trace_id');
  });

  it('marks a failed span with the kind of the error, and hides the message', async () => {
    await using collector = await openOtlpReceiver();
    await start(to(collector));
    const failing = aSpan(null, () => Promise.reject(new TypeError('a secret')));
    await expect(failing).rejects.toThrow('a secret');
    await stop();

    expect(collector.spans).toMatchObject([{ failed: true, attributes: { 'error.type': 'TypeError' } }]);
    expect(JSON.stringify(collector.spans)).not.toContain('a secret');
  });

  it('records no span of a trace that the caller does not sample, and propagates that decision', async () => {
    await using collector = await openOtlpReceiver();
    await start(to(collector));
    let handedOn: string | undefined;
    await aSpan(NOT_SAMPLED, async () => {
      handedOn = activeTraceparent();
      logger.info('within');
    });
    await stop();

    expect(handedOn).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
    expect(lines[0]).not.toHaveProperty('trace_id');
    expect(collector.spans).toEqual([]);
  });

  it.each([
    ['always_off', '1', SAMPLED, 0],
    ['always_on', '1', NOT_SAMPLED, 1],
    ['traceidratio', '0', SAMPLED, 0],
    ['parentbased_traceidratio', '0', SAMPLED, 1],
    ['parentbased_traceidratio', '0', null, 0],
    ['parentbased_always_off', '1', null, 0],
  ])('samples as %s (%s) says, for the parent %s', async (sampler, argument, parent, kept) => {
    await using collector = await openOtlpReceiver();
    await start({
      ...to(collector),
      OTEL_TRACES_SAMPLER: sampler,
      OTEL_TRACES_SAMPLER_ARG: argument,
    });
    await aSpan(parent);
    await stop();
    expect(collector.spans).toHaveLength(kept);
  });

  it('uses the complete URL if it is set', async () => {
    await using collector = await openOtlpReceiver();
    await start({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.url}/v1/traces`,
    });
    await aSpan(null);
    await stop();
    expect(collector.spans).toHaveLength(1);
  });

  it('warns once about a collector that refuses spans, and continues', async () => {
    await using collector = await openOtlpReceiver();
    collector.answer(400);
    await start(to(collector));
    await aSpan(null);
    await vi.waitFor(() => expect(lines).not.toEqual([]), { timeout: 20_000 });
    collector.answer(200);
    await aSpan(null);
    await stop();
    expect(lines).toMatchObject([
      { level: 'warn', lost: 1, collector: new URL(collector.url).host },
      { level: 'info', msg: 'traces are sent again' },
    ]);
    expect(collector.spans).toHaveLength(1);
  });

  it('stops in time if the collector never answers', async () => {
    const silent = createServer(() => undefined);
    const url = await listen(silent, { name: 'silent', host: '127.0.0.1', port: 0, setting: 'none' });
    await start({ OTEL_EXPORTER_OTLP_ENDPOINT: url }, 500);
    // More than wait for a collector: the rest is dropped.
    for (let count = 0; count < 5_000; count += 1) await aSpan(null);
    await expect(stop()).resolves.toBeUndefined();
    silent.closeAllConnections();
    silent.close();
  });
});

describe('a service without a collector, or with tracing disabled', () => {
  it.each<Environment>([
    {},
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_SDK_DISABLED: 'true' },
  ])('does its work as if there were no spans: %o', async (env) => {
    await start(env);
    expect(open).toBeUndefined();
    await expect(aSpan(SAMPLED, async () => activeTraceparent() ?? 'none')).resolves.toBe('none');
  });
});

describe('the settings of traces', () => {
  it.each<[string, string]>([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'localhost:4318'],
    ['OTEL_TRACES_SAMPLER', 'sometimes'],
    ['OTEL_TRACES_SAMPLER_ARG', '2'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'staging'],
  ])('refuse %s = %s', (variable, value) => {
    expect(() => readConfig(Type.Object(tracingConfig), { [variable]: value })).toThrow(variable);
  });
});
