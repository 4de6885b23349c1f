import { newUuid, orgId, runId } from '@runledger/contracts/ids';
import { aRun, queued } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import {
  canonicalJson,
  isRunOf,
  requestText,
  type QueueRequest,
} from '../../../src/runs/facts/queue-run.decide.ts';
import { DEFAULT_OPTIONS } from '../../../src/runs/facts/request-bounds.decide.ts';
import { runIdentity } from '../../../src/runs/facts/accept-run.ts';
import { folded } from '../../fixtures/runs/folded-runs.ts';

const request: QueueRequest = {
  deployment_id: '01920000-0000-7000-8000-000000000002',
  inputs: { size: 1, tags: ['b', { y: 1, x: null }] },
  webhook: null,
  webhook_intermediate_status: false,
  gpu: null,
  ...DEFAULT_OPTIONS,
};
const ORG = orgId('01920000-0000-7000-8000-00000000000a');

describe('canonical JSON', () => {
  it('sorts names at every depth, and leaves lists and values as they are', () => {
    expect(canonicalJson({ b: [2, 1, { d: 'ü"', c: true }], a: -0, é: 1e21, A: null })).toBe(
      '{"A":null,"a":0,"b":[2,1,{"c":true,"d":"ü\\""}],"é":1e+21}',
    );
  });

  it('treats names such as __proto__ as ordinary names', () => {
    const text = '{"__proto__":{"a":1},"constructor":[],"toString":2}';
    expect(canonicalJson(JSON.parse(text))).toBe(text);
  });
});

describe('the request that is compared', () => {
  it('is the same text in every release', () => {
    expect(requestText({ kind: 'queue', request })).toBe(
      '{"deployment_id":"01920000-0000-7000-8000-000000000002","gpu":null,"inputs":{"size":1,"tags":["b",{"x":null,"y":1}]},"kind":"queue","webhook":null,"webhook_intermediate_status":false}',
    );
    const { deployment_id: _id, ...others } = request as QueueRequest & { readonly deployment_id: string };
    expect(requestText({ kind: 'queue', request: { ...others, deployment: 'portrait@12' } })).toBe(
      '{"deployment":"portrait@12","gpu":null,"inputs":{"size":1,"tags":["b",{"x":null,"y":1}]},"kind":"queue","webhook":null,"webhook_intermediate_status":false}',
    );
    const of = runId('01920000-0000-7000-8000-00000000000b');
    expect(requestText({ kind: 'rerun', of, inputs: undefined })).toBe(
      '{"inputs":null,"kind":"rerun","rerun_of":"01920000-0000-7000-8000-00000000000b"}',
    );
    expect(requestText({ kind: 'rerun', of, inputs: {} })).toBe(
      '{"inputs":{},"kind":"rerun","rerun_of":"01920000-0000-7000-8000-00000000000b"}',
    );
  });

  it('differs when an option differs, and names no option that has its default', () => {
    const options: readonly Partial<QueueRequest>[] = [
      { priority: 1 },
      { priority: -1 },
      { concurrency_key: 'user 7' },
      { run_timeout_s: 60 },
      { start_deadline_s: 60 },
      { tags: ['a'] },
      { delay_s: 60 },
      { start_at: '2026-01-01T00:01:00.000Z' },
    ];
    const texts = [{}, ...options].map((option) =>
      requestText({ kind: 'queue', request: { ...request, ...option } }),
    );
    expect(new Set(texts).size).toBe(texts.length);
    expect(texts[1]).toContain('"kind":"queue","priority":1,"webhook":null');
  });

  it('does not match a run with a random id', () => {
    const run = folded(queued(aRun()));
    expect(isRunOf(run, 'a'.repeat(64))).toBe(false);
  });
});

describe('the id of a run with an idempotency key', () => {
  const idOf = (org: string, key: string) => runIdentity(orgId(org), key, { kind: 'queue', request }).run_id;

  it('is the same UUID of version 8 in every release', () => {
    expect(runIdentity(ORG, 'order-17', { kind: 'queue', request })).toEqual({
      kind: 'of_key',
      run_id: '104fd144-5258-8c13-89c3-2c014c5d57e4',
      request_sha256: 'cf532b0f81237338d74f18f0ffe94dad6fe440dc5895bea232cd95b733790eab',
    });
  });

  it('differs for another key and another organisation, whatever the key contains', () => {
    const keys = ['order-17', 'order-18', ' order-17', 'order-17 ', 'Order-17'];
    const ids = [ORG, newUuid()].flatMap((org) => keys.map((key) => idOf(org, key)));
    expect(new Set(ids).size).toBe(ids.length);
    for (const id of ids)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('is random without a key', () => {
    const [one, other] = [1, 2].map(() => runIdentity(ORG, undefined, { kind: 'queue', request }));
    expect(one?.run_id).not.toBe(other?.run_id);
  });
});
