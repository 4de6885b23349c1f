import type { AssignmentDocument } from '@runledger/contracts/assignment-document';
import { newAttemptKeys, signAttempt } from '@runledger/contracts/attempt-token';
import type { RunEventOf } from '@runledger/contracts/events/run-event';
import { executorId } from '@runledger/contracts/ids';
import { aRun, assigned } from '@runledger/testing/run-events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { fetchAssigned, workflowCache } from '../../src/transfer/fetch-assigned.ts';
import { startGateway, type ExecutionGateway } from '../fixtures/execution-gateway.ts';
import { sha256Of, WORKFLOW } from '../fixtures/assigned-run.ts';

const SHA256 = sha256Of(WORKFLOW);
const LARGE = JSON.stringify({ prompt: 'x'.repeat(10_000), api_key: 'v1.00000000.sealed' });
const EVERYTHING: Partial<AssignmentDocument> = {
  workflow: WORKFLOW,
  inputs: LARGE,
  secret_inputs: { api_key: 'sk-12345' },
  input_targets: [{ name: 'prompt', node: '3', field: 'text' }],
  log_masks: ['token-[a-z]+'],
};
const NAMES_EVERYTHING = {
  inputs: null,
  inputs_blob: { sha256: sha256Of(LARGE), bytes: LARGE.length },
  secret_inputs: ['api_key'],
  has_input_targets: true,
  has_log_masks: true,
};

describe('what an attempt needs before it begins', () => {
  let gateway: ExecutionGateway;
  let workflows = workflowCache(0);
  beforeEach(async () => {
    gateway = await startGateway();
    workflows = workflowCache(0);
    lines = [];
  });
  afterEach(() => gateway[Symbol.asyncDispose]());

  let lines: unknown[] = [];
  const aFetch = async (data: Partial<RunEventOf<'RunAssigned'>['data']> = {}) => {
    const keys = await newAttemptKeys();
    gateway.publicKey = keys.publicKey;
    const key = aRun();
    const event = assigned(key, { publicKey: keys.publicKey });
    const inputs = { prompt: 'a fox', api_key: 'v1.00000000.sealed' };
    const assignment = {
      ...key,
      attempt: 1,
      executor_id: executorId(event.executor_id ?? ''),
      event: {
        ...event,
        data: { ...event.data, workflow_sha256: SHA256, inputs, inputs_blob: null, ...data },
      },
      startWithinS: 60,
    };
    const settings = {
      gateway: new URL(gateway.url),
      signAttempt: () => signAttempt(keys, key, 1),
      log: {
        ...silentLogger,
        info: (...line: unknown[]) => lines.push(line),
        warn: (...line: unknown[]) => lines.push(line),
      },
      workflows,
    };
    const stop = new AbortController().signal;
    return () => fetchAssigned(settings, assignment, { stop, onWaiting: () => undefined });
  };
  const fetchIt = async (data: Parameters<typeof aFetch>[0]) => (await aFetch(data))();

  it('comes in one document, with one request', async () => {
    gateway.assignment = EVERYTHING;
    const fetched = await fetchIt(NAMES_EVERYTHING);
    if (fetched.kind !== 'fetched') throw new Error(fetched.kind);
    const { mask, ...others } = fetched;
    expect(others).toEqual({
      kind: 'fetched',
      workflow: JSON.parse(WORKFLOW),
      inputs: { prompt: 'x'.repeat(10_000), api_key: 'sk-12345' },
      inputTargets: EVERYTHING.input_targets,
      secrets: {},
    });
    expect(mask('calling with sk-12345 and token-abc')).toBe('calling with *** and ***');
    expect(gateway.fetches).toEqual(['assignment']);
  });

  it('is asked for without a workflow that is here already', async () => {
    workflows = workflowCache(1_000_000);
    gateway.assignment = EVERYTHING;
    const again = await aFetch(NAMES_EVERYTHING);
    for (const fetch of [again, again])
      expect(await fetch()).toMatchObject({ kind: 'fetched', workflow: JSON.parse(WORKFLOW) });
    expect(gateway.fetches).toEqual(['assignment', `assignment?has_workflow=${SHA256}`]);
  });

  it('is not asked for when the workflow is here, and the event has the rest', async () => {
    workflows = workflowCache(1_000_000);
    const again = await aFetch();
    for (const fetch of [again, again]) expect(await fetch()).toMatchObject({ kind: 'fetched' });
    expect(gateway.fetches).toEqual(['assignment']);
  });

  it('has the workflow once when several attempts begin together, and each has its own secrets', async () => {
    gateway.assignment = EVERYTHING;
    const attempt = await aFetch(NAMES_EVERYTHING);
    const all = await Promise.all([attempt(), attempt(), attempt()]);
    for (const fetched of all)
      expect(fetched).toMatchObject({ kind: 'fetched', inputs: { api_key: 'sk-12345' } });
    const without = `assignment?has_workflow=${SHA256}`;
    expect(gateway.fetches).toEqual(['assignment', without, without]);
  });

  it.each([
    ['a secret input', { secret_inputs: { other: 'sk-12345' } }, 'secret inputs'],
    ['its large inputs', { inputs: null }, 'The inputs of this run cannot be used'],
    ['the large inputs that it was queued with', { inputs: '{}' }, `should be ${sha256Of(LARGE)}`],
    ['the workflow', { workflow: null }, 'The workflow of this run cannot be used'],
    ['the workflow that it was queued with', { workflow: '{}' }, `should be ${SHA256}`],
    ['masks that can be used', { log_masks: ['('] }, 'log masks'],
    ['a list of targets', { input_targets: [{ name: 1 }] }, 'no assignment document'],
  ])('ends the attempt when the document lacks %s', async (_what, part, message) => {
    gateway.assignment = { ...EVERYTHING, ...(part as object) };
    expect(await fetchIt(NAMES_EVERYTHING)).toMatchObject({
      kind: 'refused',
      error: { kind: 'internal_error', message: expect.stringContaining(message) },
    });
  });

  const MANIFEST = JSON.stringify({
    code_sha256: SHA256,
    run: 'a.py:f',
    secrets: { TOKEN: 'HF_TOKEN', PIN: 'PIN' },
  });
  const CODE = { runner: { kind: 'code' }, workflow_sha256: sha256Of(MANIFEST) } as const;

  it('has the secrets that a manifest names, also when its workflow is here, and masks the long ones', async () => {
    workflows = workflowCache(1_000_000);
    gateway.assignment = { workflow: MANIFEST, secrets: { TOKEN: 'hf_0123456789', PIN: '12345' } };
    const again = await aFetch(CODE);
    for (const fetch of [again, again]) {
      const fetched = await fetch();
      if (fetched.kind !== 'fetched') throw new Error(fetched.kind);
      expect(fetched.secrets).toEqual({ TOKEN: 'hf_0123456789', PIN: '12345' });
      expect(fetched.mask('hf_0123456789 and aGZfMDEyMzQ1Njc4OQ== and 12345')).toBe('*** and *** and 12345');
    }
    expect(gateway.fetches).toEqual(['assignment', `assignment?has_workflow=${CODE.workflow_sha256}`]);
  });

  it('ends the attempt for good when a secret of the manifest does not exist, or cannot be opened', async () => {
    gateway.assignment = { workflow: MANIFEST, secrets: { PIN: '12345' } };
    expect(await fetchIt(CODE)).toMatchObject({
      kind: 'refused',
      error: {
        kind: 'prepare_failed',
        retryable: false,
        message: expect.stringMatching(/secret HF_TOKEN.*runledger secrets set HF_TOKEN$/),
      },
    });
    gateway.refusal = { status: 424, body: { detail: 'It cannot be opened.', code: 'secrets_unreadable' } };
    expect(await fetchIt(CODE)).toMatchObject({ kind: 'refused', error: { kind: 'prepare_failed' } });
  });

  it.each([
    [410, 'assigned_workflow_lost', 'deployment_removed'],
    [410, 'assigned_inputs_lost', 'internal_error'],
    [410, 'assigned_version_deleted', 'internal_error'],
    [424, 'assigned_workflow_damaged', 'internal_error'],
    [424, 'secret_inputs_unreadable', 'internal_error'],
    [404, undefined, 'internal_error'],
  ])('ends the attempt when the gateway refuses it with %s, %s', async (status, code, kind) => {
    gateway.refusal = { status, body: { detail: 'It is gone. Queue the run again.', code } };
    expect(await fetchIt(NAMES_EVERYTHING)).toMatchObject({
      kind: 'refused',
      error: { kind, message: expect.stringContaining('It is gone. Queue the run again.') },
    });
  });

  it('is waited for while the gateway is away, and its secrets are in no line of the log', async () => {
    gateway.assignment = EVERYTHING;
    gateway.fetchFailures = [503, 'broken', 401];
    expect(await fetchIt(NAMES_EVERYTHING)).toMatchObject({ kind: 'fetched' });
    expect(lines).toHaveLength(3);
    expect(JSON.stringify(lines)).not.toContain('sk-12345');
  });
});
