import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRunEvent, RUN_EVENT_TYPES, type RunEvent } from '../../src/events/run-event.ts';
import { gpuModel } from '../../src/gpu.ts';
import { NO_CONTENT, type SliceContent } from '../../src/slices/slice.ts';
import { redactionOf } from '../../src/slices/redaction-rules.ts';
import { redactedRunEvent } from '../../src/slices/redacted-events.ts';
import { extremeData } from '../fixtures/extreme-events.ts';
import { anEvent, runAfter } from '../fixtures/run-events.ts';
import { ALL_CONTENT, pseudonym } from '../fixtures/slice-content.ts';

const shown = (event: RunEvent, content: Partial<SliceContent> = {}): RunEvent =>
  redactedRunEvent(event, redactionOf({ ...NO_CONTENT, ...content }, pseudonym));

const PLANTED = 'planted';
const blob = { sha256: 'c'.repeat(64), bytes: 1 };
const file = {
  key: 'k'.repeat(43),
  filename: `${PLANTED}.png`,
  subfolder: '',
  content_type: 'image/png',
  bytes: 1,
  sha256: 'd'.repeat(64),
  type: 'output',
  upload_duration: 1,
} as const;
const written = {
  inputs: { prompt: PLANTED, token: 'sealed' },
  inputs_blob: null,
  file_inputs: [PLANTED],
  secret_inputs: ['token'],
};
const error = { message: PLANTED, kind: 'execution_error', node: PLANTED, retryable: true } as const;
const output = {
  id: anEvent('RunQueued').run_id,
  output_id: PLANTED,
  node_id: null,
  node_meta: { title: PLANTED },
  type: null,
  data: { text: [PLANTED], files: [file] },
};
const outputs = { outputs: [output], outputs_blob: null, log_blob: blob };
const request = anEvent('RunQueued', {
  ...written,
  webhook: `https://${PLANTED}.example/a?b=c`,
  concurrency_key: PLANTED,
  tags: [PLANTED],
  runner: { kind: 'comfyui', url: `https://${PLANTED}.example` },
  idempotency: { request_sha256: 'b'.repeat(64) },
});
const EVENTS: readonly RunEvent[] = [
  { ...request, correlation_id: PLANTED, traceparent: '00-12' },
  { ...anEvent('RunAssigned', written), previous_sha256: 'h'.repeat(43) },
  anEvent('RunAttemptFailed', { error, log_blob: blob }),
  anEvent('RunSucceeded', outputs),
  anEvent('RunFailed', { ...outputs, error }),
  anEvent('RunCancelled', outputs),
  anEvent('RunTimedOut', { message: PLANTED }),
  anEvent('RunGivenUp', { message: PLANTED }),
  anEvent('RunRequeued', { message: PLANTED }),
  anEvent('RunCancelEnforced', { message: PLANTED }),
  anEvent('RunExpired', { message: PLANTED, request: request.data }),
];

describe('an event without content', () => {
  it.each(RUN_EVENT_TYPES)('%s still matches its schema, with any members, whatever is kept', (type) => {
    const masked = { inputs: ['/prompt', '/*/*'], outputs: ['/data', '/node_meta'] };
    fc.assert(
      fc.property(
        extremeData[type],
        fc.subarray([...ALL_CONTENT.kept]),
        fc.constantFrom({}, masked),
        (data, kept, masks) => {
          const event = { ...anEvent(type), data } as RunEvent;
          expect(parseRunEvent(shown(event, { kept, masked: masks }))).toMatchObject({ kind: 'event' });
        },
      ),
    );
  });

  it('holds nothing that a client, a workflow or a person wrote', () => {
    for (const event of EVENTS) {
      const text = JSON.stringify(shown(event));
      expect(text).not.toMatch(/planted|sealed|b{64}|c{64}|d{64}|h{43}|k{43}|00-12/);
    }
  });

  it('keeps what decides when and where the run executes', () => {
    const decisive = {
      priority: 7,
      weight: 2,
      concurrency_limit: 3,
      gpu: gpuModel('L4'),
      labels: ['eu'],
      max_attempts: 2,
    };
    const events = [
      anEvent('RunQueued', { ...decisive, concurrency_key: 'doc-1' }),
      anEvent('RunAssigned'),
      anEvent('RunStarted'),
      anEvent('RunSucceeded'),
    ];
    const [whole, without] = [runAfter(...events), runAfter(...events.map((event) => shown(event)))];
    expect(without).toMatchObject({ status: 'success', attempt: whole.attempt, number: whole.number });
    expect(without.request).toMatchObject({ ...decisive, concurrency_key: pseudonym('doc-1') });
  });

  it('tells which callbacks have the same origin, and not what it is', () => {
    const webhookOf = (webhook: string | null): unknown => shown(anEvent('RunQueued', { webhook })).data;
    const [one, other, third] = ['https://a.example/1?x', 'https://a.example/2', 'https://b.example/1'].map(
      webhookOf,
    );
    expect(one).toEqual(other);
    expect(third).not.toEqual(one);
    expect(one).toMatchObject({ webhook: `https://${pseudonym('https://a.example')}.invalid/` });
    expect(webhookOf(null)).toMatchObject({ webhook: null });
  });

  it('loses a member that only a later release knows', () => {
    const event = anEvent('RunQueued');
    const later = { ...event, prompt: PLANTED, data: { ...event.data, prompt: PLANTED } } as RunEvent;
    expect(JSON.stringify(shown(later))).not.toContain(PLANTED);
  });
});

describe('an event with all content', () => {
  const all = EVENTS.map((event) => shown(event, ALL_CONTENT));

  it('has no values of secret inputs, no keys of files and no hash of the fact before', () => {
    expect(JSON.stringify(all)).not.toMatch(/sealed|k{43}|h{43}/);
  });

  it('has everything else', () => {
    expect(all[0]).toEqual({
      ...EVENTS[0],
      data: { ...request.data, inputs: { prompt: PLANTED } },
    });
    const masked = { ...output, data: { text: [PLANTED], files: [{ ...file, key: pseudonym(file.key) }] } };
    expect(all[3]?.data).toEqual({ ...outputs, outputs: [masked] });
    expect(all[4]?.data).toMatchObject({ error });
  });
});

describe('an event with some content', () => {
  it.each([
    ['inputs', /"prompt":"planted"/, /"secret_inputs"|planted\.example|"tags"/],
    ['outputs', /"text":\["planted"\]/, /"error":\{"message":"planted"/],
    ['addresses', /https:\/\/planted\.example\/a\?b=c/, /"prompt"/],
    ['texts', /"message":"planted"/, /"prompt"|"text":/],
    ['tags', /"concurrency_key":"planted"/, /"prompt"/],
    ['secret_names', /"secret_inputs":\["token"\]/, /planted/],
    ['traces', /"traceparent":"00-12"/, /"prompt"/],
  ] as const)('keeps %s and no other kind', (kind, kept, left) => {
    const text = JSON.stringify(EVENTS.map((event) => shown(event, { kept: [kind] })));
    expect(text).toMatch(kept);
    expect(text).not.toMatch(left);
  });

  it('has nothing that masked inputs and outputs could be derived from', () => {
    const masked = { inputs: ['/prompt'], outputs: ['/data/text'] };
    const content = { ...ALL_CONTENT, masked };
    const large = anEvent('RunQueued', { ...request.data, inputs: null, inputs_blob: blob });
    expect(shown(large, content).data).toMatchObject({ inputs: {}, inputs_blob: null });
    expect(JSON.stringify(shown(large, content))).not.toMatch(/b{64}|c{64}/);
    const listed = anEvent('RunSucceeded', { outputs: null, outputs_blob: blob });
    expect(shown(listed, content).data).toMatchObject({ outputs: [], outputs_blob: null });
    expect(shown(request, content).data).toMatchObject({ inputs: { prompt: pseudonym(PLANTED) } });
  });
});
