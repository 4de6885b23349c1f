import fc from 'fast-check';
import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { MAX_LIVE_STATUS } from '../../src/limits.ts';
import { webhookBody, WebhookPayload, type PayloadInput } from '../../src/deliveries/webhook-payload.ts';
import { anEvent, RUN } from '../fixtures/run-events.ts';
import { CANCELLING, REQUEUED, succeededWith, textOutputs, told, TOLD } from './payload-inputs.ts';

const textOf = (told: PayloadInput): string => new TextDecoder().decode(webhookBody(told));
const payloadOf = (told: PayloadInput): WebhookPayload =>
  Value.Parse(WebhookPayload, JSON.parse(textOf(told)));

describe('the body of a notification', () => {
  it('is the run as it is, in JSON', () => {
    expect(textOf(succeededWith(textOutputs('done')))).toBe(
      `{"run_id":"${RUN}","status":"success","live_status":null,"progress":1,"outputs":[` +
        `{"id":"01920000-0000-7000-8000-000000000000","run_id":"${RUN}","output_id":"text-0",` +
        '"data":{"text":["done"]},"node_meta":null,' +
        '"created_at":"2026-01-01T00:00:04.000Z","updated_at":"2026-01-01T00:00:04.000Z","type":null,"node_id":null}' +
        '],"sequence":4,"finished":true,"end_reason":"completed"}',
    );
  });

  it('names the files of an output by their public addresses, as the run API does', () => {
    const [output] = payloadOf(TOLD.success).outputs;
    expect(output).toMatchObject({
      data: {
        images: [
          {
            url: `https://runs.example.com/api/outputs/${'k'.repeat(43)}/fractal.png`,
            filename: 'fractal.png',
            content_type: 'image/png',
          },
        ],
        text: ['done'],
      },
    });
  });

  it.each(Object.entries(TOLD))('of a run that is %s tells its status and fits the schema', (status, run) => {
    expect(payloadOf(run).status).toBe(status);
    expect(payloadOf(run)).not.toHaveProperty('truncated');
    expect(payloadOf(run)).not.toHaveProperty('run_url');
  });
});

describe('an intermediate notification', () => {
  it('tells the progress that was reported last, and no outputs', () => {
    expect(payloadOf(TOLD.running)).toMatchObject({
      progress: 0.5,
      live_status: 'drawing row 256',
      outputs: [],
      finished: false,
      end_reason: null,
    });
  });

  it('tells of no progress before any report', () => {
    expect(
      payloadOf(told([anEvent('RunQueued'), anEvent('RunAssigned')], { report: undefined })),
    ).toMatchObject({
      progress: 0,
      live_status: 'starting on an A10G',
    });
  });

  it('of a run that waits again begins at no progress, whatever the lost attempt reported', () => {
    expect(payloadOf(REQUEUED)).toMatchObject({ progress: 0, live_status: 'waiting for an A10G' });
  });

  it('says that the run is being cancelled', () => {
    expect(payloadOf(CANCELLING)).toMatchObject({
      status: 'running',
      live_status: 'cancelling',
      finished: false,
    });
  });
});

describe('a final notification', () => {
  it.each([
    ['success', 'completed', 1],
    ['failed', 'workflow_error', 0.25],
    ['timeout', 'run_timeout', 0.5],
    ['cancelled', 'cancelled_by_client', 0.75],
  ] as const)('of a run that ended as %s says why: %s', (status, end_reason, progress) => {
    expect(payloadOf(TOLD[status])).toMatchObject({
      finished: true,
      live_status: null,
      end_reason,
      progress,
    });
  });
});

describe('outputs that do not fit', () => {
  it('are left out from the end, and stand at run_url', () => {
    const outputs = textOutputs('first', 'second', 'x'.repeat(2_000), 'last');
    const payload = payloadOf(succeededWith(outputs, { maxBytes: 1_500 }));
    expect(payload.outputs).toMatchObject([{ output_id: 'text-0' }, { output_id: 'text-1' }]);
    expect(payload).toMatchObject({
      truncated: true,
      run_url: `https://runs.example.com/api/run/${RUN}`,
      finished: true,
      status: 'success',
    });
  });

  it('are all left out when the first is too large', () => {
    const outputs = textOutputs('x'.repeat(2_000), 'short');
    expect(payloadOf(succeededWith(outputs, { maxBytes: 1_500 }))).toMatchObject({
      outputs: [],
      truncated: true,
    });
  });

  it('are none when the body has just the size that may be', () => {
    const whole = succeededWith(textOutputs('first', 'second'));
    const maxBytes = webhookBody(whole).byteLength;
    expect(textOf({ ...whole, maxBytes })).toBe(textOf(whole));
    expect(payloadOf({ ...whole, maxBytes: maxBytes - 1 })).toHaveProperty('truncated', true);
  });

  it('are not those that just fit', () => {
    const outputs = textOutputs('first', 'x'.repeat(2_000));
    const cut = succeededWith(outputs, { maxBytes: 1_500 });
    const maxBytes = webhookBody(cut).byteLength;
    expect(payloadOf({ ...cut, maxBytes }).outputs).toHaveLength(1);
    expect(payloadOf({ ...cut, maxBytes: maxBytes - 1 }).outputs).toHaveLength(0);
  });

  it('never let the body grow beyond its size, whatever they say, and no more go than must', () => {
    const anyText = fc.string({ unit: 'binary', maxLength: 300 });
    const anySize = fc.integer({ min: 600, max: 4_000 });
    fc.assert(
      fc.property(fc.array(anyText, { maxLength: 8 }), anySize, (texts, maxBytes) => {
        const all = payloadOf(succeededWith(textOutputs(...texts)));
        const cut = succeededWith(textOutputs(...texts), { maxBytes });
        const payload = payloadOf(cut);
        expect(webhookBody(cut).byteLength).toBeLessThanOrEqual(maxBytes);
        expect(payload.outputs).toEqual(all.outputs.slice(0, payload.outputs.length));
        expect(payload.truncated ?? false).toBe(payload.outputs.length < all.outputs.length);
        if (!payload.truncated) return;
        const oneMore = { ...payload, outputs: all.outputs.slice(0, payload.outputs.length + 1) };
        expect(Buffer.byteLength(JSON.stringify(oneMore))).toBeGreaterThan(maxBytes);
      }),
    );
  });

  it('leave room for the longest live status', () => {
    const report = {
      progress: 0.5,
      live_status: '\u0001'.repeat(MAX_LIVE_STATUS),
      time: '2026-01-01T00:00:00.000Z',
    };
    expect(webhookBody({ ...TOLD.running, report }).byteLength).toBeLessThan(2_048);
  });
});
