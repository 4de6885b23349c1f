import fc from 'fast-check';
import { Value } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import { MAX_LIVE_STATUS } from '../../src/limits.ts';
import { webhookBody, WebhookPayload, type PayloadInput } from '../../src/deliveries/webhook-payload.ts';
import { anEvent, RUN } from '../fixtures/run-events.ts';
import {
  CANCELLING,
  REQUEUED,
  succeededWith,
  textOutputs,
  payloadInput,
  INPUTS,
  WARNED,
} from './payload-inputs.ts';
import { anyCharacter } from '../fixtures/any-character.ts';

const textOf = (input: PayloadInput): string => new TextDecoder().decode(webhookBody(input));
const payloadOf = (input: PayloadInput): WebhookPayload =>
  Value.Parse(WebhookPayload, JSON.parse(textOf(input)));

describe('the body of a notification', () => {
  it('is the current run in JSON', () => {
    expect(textOf(succeededWith(textOutputs('done')))).toBe(
      `{"run_id":"${RUN}","status":"success","live_status":null,"progress":1,"outputs":[` +
        `{"id":"01920000-0000-7000-8000-000000000000","run_id":"${RUN}","output_id":"text-0",` +
        '"data":{"text":["done"]},"node_meta":null,' +
        '"created_at":"2026-01-01T00:00:04.000Z","updated_at":"2026-01-01T00:00:04.000Z","type":null,"node_id":null}' +
        '],"sequence":4,"finished":true,"end_reason":"completed","error":null,"attempts":[{"number":1,"executor":"box","gpu":"A10G",' +
        '"started_at":"2026-01-01T00:00:03.000Z","ended_at":"2026-01-01T00:00:04.000Z","end_reason":"completed","error":null}]}',
    );
  });

  it('contains the public URLs of output files, as the run API does', () => {
    const [output] = payloadOf(INPUTS.success).outputs;
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

  it('says what is odd about a run that succeeded', () => {
    expect(payloadOf(WARNED)).toMatchObject({
      status: 'success',
      outputs: [],
      warnings: [{ kind: 'no_output', message: 'Node 9 (SaveImage) made no output.', node: '9' }],
    });
    expect(payloadOf(INPUTS.success)).not.toHaveProperty('warnings');
  });

  it.each(Object.entries(INPUTS))(
    'of a run with status %s has this status and matches the schema',
    (status, run) => {
      expect(payloadOf(run).status).toBe(status);
      expect(payloadOf(run)).not.toHaveProperty('truncated');
      expect(payloadOf(run)).not.toHaveProperty('run_url');
    },
  );
});

describe('an intermediate notification', () => {
  it('has the last reported progress and no outputs', () => {
    expect(payloadOf(INPUTS.running)).toMatchObject({
      progress: 0.5,
      live_status: 'drawing row 256',
      outputs: [],
      finished: false,
      end_reason: null,
    });
  });

  it('has progress 0 before any report', () => {
    expect(
      payloadOf(payloadInput([anEvent('RunQueued'), anEvent('RunAssigned')], { report: undefined })),
    ).toMatchObject({
      progress: 0,
      live_status: 'starting on an A10G',
    });
  });

  it('of a requeued run has progress 0, even if the lost attempt reported progress', () => {
    expect(payloadOf(REQUEUED)).toMatchObject({ progress: 0, live_status: 'waiting for an A10G' });
  });

  it('shows that the run is being cancelled', () => {
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
    expect(payloadOf(INPUTS[status])).toMatchObject({
      finished: true,
      live_status: null,
      end_reason,
      progress,
    });
  });

  it('says what went wrong when the run failed, and only then', () => {
    expect(payloadOf(INPUTS.failed).error).toEqual({
      message: 'size is too large',
      kind: 'program_exit',
      exit_code: 3,
      retryable: true,
    });
    expect(payloadOf(INPUTS.timeout).error).toMatchObject({ kind: 'run_timeout', retryable: false });
    expect([INPUTS.success, INPUTS.cancelled, INPUTS.running].map((input) => payloadOf(input).error)).toEqual(
      [null, null, null],
    );
  });
});

describe('the attempts in a notification', () => {
  it('are those that the run shows, with what became of each', () => {
    expect(payloadOf(REQUEUED).attempts).toMatchObject([
      { number: 1, end_reason: 'executor_lost', error: { kind: 'executor_lost' } },
    ]);
    expect(payloadOf(INPUTS.failed).attempts).toMatchObject([
      { number: 1, ended_at: expect.any(String), end_reason: 'workflow_error', error: { exit_code: 3 } },
    ]);
  });

  it('are left out when the body is too large with them, and run_url is set', () => {
    const whole = succeededWith(textOutputs('short'));
    const maxBytes = webhookBody(whole).byteLength - 1;
    expect(payloadOf({ ...whole, maxBytes: maxBytes + 1 }).attempts).toHaveLength(1);
    expect(payloadOf({ ...whole, maxBytes })).toMatchObject({
      attempts: [],
      truncated: true,
      run_url: `https://runs.example.com/api/run/${RUN}`,
    });
  });
});

describe('outputs that do not fit', () => {
  it('are left out, the last ones first, and run_url is set', () => {
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

  it('are all left out if the first one is too large', () => {
    const outputs = textOutputs('x'.repeat(2_000), 'short');
    expect(payloadOf(succeededWith(outputs, { maxBytes: 1_500 }))).toMatchObject({
      outputs: [],
      truncated: true,
    });
  });

  it('do not exist if the body has exactly the largest size', () => {
    const whole = succeededWith(textOutputs('first', 'second'));
    const maxBytes = webhookBody(whole).byteLength;
    expect(textOf({ ...whole, maxBytes })).toBe(textOf(whole));
    expect(payloadOf({ ...whole, maxBytes: maxBytes - 1 })).toHaveProperty('truncated', true);
  });

  it('do not include those that fit exactly', () => {
    const outputs = textOutputs('first', 'x'.repeat(2_000));
    const cut = succeededWith(outputs, { maxBytes: 1_500 });
    const maxBytes = webhookBody(cut).byteLength;
    expect(payloadOf({ ...cut, maxBytes }).outputs).toHaveLength(1);
    expect(payloadOf({ ...cut, maxBytes: maxBytes - 1 }).outputs).toHaveLength(0);
  });

  it('never make the body larger than its limit, and only those are left out that must be', () => {
    const anyText = fc.string({ unit: anyCharacter, maxLength: 300 });
    const anySize = fc.integer({ min: 600, max: 4_000 });
    fc.assert(
      fc.property(fc.array(anyText, { maxLength: 8 }), anySize, (texts, maxBytes) => {
        const all = payloadOf(succeededWith(textOutputs(...texts)));
        const cut = succeededWith(textOutputs(...texts), { maxBytes });
        const payload = payloadOf(cut);
        expect(webhookBody(cut).byteLength).toBeLessThanOrEqual(maxBytes);
        expect(payload.outputs).toEqual(all.outputs.slice(0, payload.outputs.length));
        expect(payload.truncated ?? false).toBe(Buffer.byteLength(JSON.stringify(all)) > maxBytes);
        if (payload.outputs.length === all.outputs.length) return;
        const oneMore = { ...payload, outputs: all.outputs.slice(0, payload.outputs.length + 1) };
        expect(Buffer.byteLength(JSON.stringify(oneMore))).toBeGreaterThan(maxBytes);
      }),
    );
  });

  it('leave space for the longest live status', () => {
    const report = {
      progress: 0.5,
      live_status: '\u0001'.repeat(MAX_LIVE_STATUS),
      time: '2026-01-01T00:00:00.000Z',
    };
    expect(webhookBody({ ...INPUTS.running, report }).byteLength).toBeLessThan(2_048);
  });
});
