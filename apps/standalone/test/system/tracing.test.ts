import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { openOtlpReceiver, type ReceivedSpan } from '@runledger/service-kit/otlp-receiver';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { aReceiver } from '../fixtures/webhook-receiver.ts';
import { runApi } from '../fixtures/run-api.ts';
import { startStandalone, type Standalone } from '../fixtures/start-standalone.ts';

/** The spans below a span, by name. A repeated span counts once. */
interface Tree {
  readonly [name: string]: Tree;
}

const treeBelow = (parent: string, spans: readonly ReceivedSpan[]): Tree =>
  Object.fromEntries(
    spans
      .filter(({ parent_span_id }) => parent_span_id === parent)
      .map(({ name, resource, span_id }) => [
        `${name} (${resource['service.name']})`,
        treeBelow(span_id, spans),
      ]),
  );

const queue = async (
  { url, api_key, deployment_id }: Standalone,
  webhook: string,
  traceparent: string,
): Promise<string> => {
  const answer = await fetch(`${url}/run/deployment/queue`, {
    method: 'POST',
    headers: { authorization: `Bearer ${api_key}`, 'content-type': 'application/json', traceparent },
    body: JSON.stringify({
      deployment_id,
      inputs: { size: 64, seconds: 0.1, palette: 'ember' },
      webhook,
    }),
  });
  const body = await answer.text();
  if (answer.status !== 200) throw new Error(`queueing answered ${answer.status}: ${body}`);
  const { run_id }: { run_id: string } = JSON.parse(body);
  return run_id;
};

describe('with a collector', () => {
  it('a run is one trace, from the request over its events to the workflow, its file and its webhook', async () => {
    await using collector = await openOtlpReceiver();
    await using receiver = await aReceiver();
    await using standalone = await startStandalone({
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_RESOURCE_ATTRIBUTES: 'test=tracing' },
    });
    const trace = randomBytes(16).toString('hex');
    const client = randomBytes(8).toString('hex');
    const unkept = randomBytes(16).toString('hex');
    const run = await queue(standalone, `${receiver.url}?token=a-private-token`, `00-${trace}-${client}-01`);
    const other = await queue(standalone, receiver.url, `00-${unkept}-${client}-00`);
    const api = runApi(standalone);
    await Promise.all([api.ended(run, 60_000), api.ended(other, 60_000)]);
    await waitFor('the webhook', async () => (await api.get(run)).webhook_status === 'success');

    // The stop sends the remaining spans.
    await standalone.stop();
    const ofTrace = collector.spans.filter(
      // Sent only if the first attempt takes a while.
      ({ trace_id, name }) => trace_id === trace && name !== 'append WebhookStarted',
    );
    expect(treeBelow(client, ofTrace)).toEqual({
      'POST /api/run/deployment/queue (gateway)': {
        'append RunQueued (gateway)': {},
        'decide assign (scheduler)': {
          'append RunAssigned (scheduler)': {
            'process RunAssigned (gpu-executor)': {
              'GET assignment (gpu-executor)': {
                'GET /executions/:org_id/:run_id/:attempt/assignment (gateway)': {},
              },
              'run workflow (gpu-executor)': { 'append RunStarted (gpu-executor)': {} },
              'append RunUploading (gpu-executor)': {},
              'PUT output (gpu-executor)': {
                'PUT /executions/:org_id/:run_id/:attempt/outputs (gateway)': {},
              },
              'append RunSucceeded (gpu-executor)': {},
            },
          },
        },
        'POST webhook (notifier)': {},
        'append WebhookDelivered (notifier)': {},
      },
    });

    const request = ofTrace.find(({ parent_span_id }) => parent_span_id === client);
    expect(request).toMatchObject({
      kind: 'server',
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/api/run/deployment/queue',
        'http.response.status_code': 200,
        'runledger.operation': expect.stringMatching(/^\w+$/),
      },
      resource: { 'service.namespace': 'runledger', test: 'tracing' },
    });
    expect(ofTrace.find(({ name }) => name === 'append RunQueued')).toMatchObject({
      kind: 'producer',
      attributes: { 'messaging.system': 'nats', 'runledger.run_id': run },
    });
    // The receiver is outside of the trace.
    expect(receiver.finalsOf(run)).toHaveLength(1);
    expect(receiver.arrived.filter(({ headers }) => 'traceparent' in headers)).toEqual([]);
    // Its client does not sample it.
    expect(collector.spans.filter(({ trace_id }) => trace_id === unkept)).toEqual([]);
    const everything = JSON.stringify(collector.spans);
    for (const secret of ['ember', 'a-private-token', standalone.api_key, '/outputs/'])
      expect(everything).not.toContain(secret);
  }, 120_000);
});

describe('with a collector that never answers', () => {
  it('runs succeed, and everything stops by itself in time', async () => {
    const unresponsive = createServer(() => undefined);
    await new Promise<void>((resolve) => unresponsive.listen(0, '127.0.0.1', resolve));
    const address = unresponsive.address();
    if (address === null || typeof address === 'string') throw new Error('the collector has no port');
    const endpoint = `http://127.0.0.1:${address.port}`;
    await using standalone = await startStandalone({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint } });
    const api = runApi(standalone);
    const run = await api.queue({ size: 64, seconds: 0.1 });
    expect(await api.ended(run, 60_000)).toMatchObject({ status: 'success' });
    standalone.signal('SIGINT');
    expect(await standalone.ended()).toBe(0);
    // The log line of a service whose stop took too long.
    expect(standalone.output()).not.toContain('the stop took more than');
    unresponsive.closeAllConnections();
    unresponsive.close();
  }, 120_000);
});
