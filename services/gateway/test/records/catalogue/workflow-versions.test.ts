import { createHash } from 'node:crypto';
import { newUuid } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openWorkflowVersions, type FixedVersion } from '../../../src/records/catalogue/workflow-versions.ts';
import { aLog, type TestLog } from '../../fixtures/gateway/a-log.ts';

let testLog: TestLog;
let log: EventLog;
beforeAll(async () => {
  testLog = await aLog();
  log = testLog.log;
});
afterAll(() => testLog[Symbol.asyncDispose]());

const WORKFLOW = { kind: 'fractal' };
const RECORD = {
  sha256: createHash('sha256').update(JSON.stringify(WORKFLOW)).digest('hex'),
  bytes: JSON.stringify(WORKFLOW).length,
};
/** What is stored of a version besides its workflow. */
const recordOf = ({ workflow: _workflow, ...version }: FixedVersion) => ({ ...version, ...RECORD });

const aVersion = (of: { readonly org_id: string; readonly workflow_id: string }) => ({
  ...of,
  id: newUuid(),
  workflow: WORKFLOW,
  inputs: [],
  created_at: '2026-01-01T00:00:00.000Z',
});
const aWorkflow = () => ({ org_id: newUuid(), workflow_id: newUuid() });
const archive =
  (versions: ReturnType<typeof openWorkflowVersions>, of: ReturnType<typeof aWorkflow>) =>
  async (number: number) =>
    versions.change({ ...of, number }, async (version) => ({
      kind: 'changed',
      record: { ...version, archived: true },
    }));

describe('versions of a workflow', () => {
  it('have numbers from 1 without gaps, also when several gateways create twenty at once', async () => {
    const gateways = [openWorkflowVersions(log), openWorkflowVersions(await testLog.open())];
    const of = aWorkflow();
    const added = await Promise.all(
      Array.from({ length: 10 }, () => gateways.map((versions) => versions.add(aVersion(of)))).flat(),
    );
    const versions = added.map((one) => (one.kind === 'added' ? one.version : undefined));
    expect(versions.map((version) => version?.number).sort((a, b) => Number(a) - Number(b))).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
    for (const version of versions) {
      expect(await gateways[0]?.get(of.org_id, version?.id ?? '')).toEqual(version);
    }
  });

  it('are counted for each workflow, and for each organisation', async () => {
    const versions = openWorkflowVersions(log);
    const of = aWorkflow();
    for (const one of [of, { ...of, workflow_id: newUuid() }, { ...of, org_id: newUuid() }]) {
      expect(await versions.add(aVersion(one))).toMatchObject({ kind: 'added', version: { number: 1 } });
    }
  });

  it('are listed newest first, page by page', async () => {
    const versions = openWorkflowVersions(log);
    const of = aWorkflow();
    const list = (limit: number, below?: number) =>
      versions.page(of.org_id, of.workflow_id, { limit, archived: false, ...(below ? { below } : {}) });
    expect(await list(5)).toEqual({ versions: [], below: undefined });
    for (let number = 1; number <= 7; number += 1) await versions.add(aVersion(of));
    await archive(versions, of)(5);
    const numbers = ({ versions }: Awaited<ReturnType<typeof list>>) => versions.map(({ number }) => number);
    const first = await list(3);
    expect(numbers(first)).toEqual([7, 6, 4]);
    await versions.add(aVersion(of));
    const second = await list(3, first.below);
    expect(numbers(second)).toEqual([3, 2, 1]);
    expect(second.below).toBeUndefined();
    expect(numbers(await list(10, 1_000_000))).toEqual([8, 7, 6, 4, 3, 2, 1]);
  });

  it('do not take the number of another version', async () => {
    const versions = openWorkflowVersions(log);
    const of = aWorkflow();
    const first = { ...aVersion(of), number: 1 };
    expect(await versions.create(first)).toBe(true);
    const second = { ...aVersion(of), number: 1 };
    await expect(versions.create(second)).rejects.toThrow(/number 1 .* belongs to another version/);
    expect(await versions.get(of.org_id, second.id)).toBeUndefined();
    expect(await versions.get(of.org_id, first.id)).toEqual({ ...recordOf(first), archived: false });
  });

  it('never change when they are created again', async () => {
    const versions = openWorkflowVersions(log);
    const first = { ...aVersion(aWorkflow()), number: 1 };
    expect(await versions.create(first)).toBe(true);
    expect(await versions.create({ ...first, workflow: 'another' })).toBe(false);
    expect(await versions.get(first.org_id, first.id)).toEqual({ ...recordOf(first), archived: false });
  });
});
