import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Receipt, type ReceiptSegment } from '@runledger/contracts/http/receipts';
import { newUuid, orgId, runId } from '@runledger/contracts/ids';
import { runEventSubject, type RunKey } from '@runledger/contracts/events/subjects';
import { hashOf } from '@runledger/event-log/append/previous-hash';
import { leafOf, merklePath, merkleRoot } from '@runledger/event-log/read/merkle';
import {
  assigned,
  deleted,
  outputsDeleted,
  queued,
  started,
  succeeded,
  aRun,
} from '@runledger/testing/run-events';
import { receiptSigner } from '@runledger/webhooks/receipt-signer';
import fc from 'fast-check';
import { Value } from 'typebox/value';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkReceipt } from '../../src/runs/receipts.ts';
import { aRealGateway, type RealGateway } from '../fixtures/real-gateway.ts';
import { runCli, type Result } from '../fixtures/run-cli.ts';
import { storeFacts } from '../fixtures/stored-facts.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';

let gateway: RealGateway;
let receipt: Receipt;
beforeAll(async () => {
  gateway = await aRealGateway();
  receipt = await receiptOf(await wholeRun());
});
afterAll(() => gateway[Symbol.asyncDispose]());

const store = (...facts: Parameters<typeof storeFacts>[1][]): Promise<number> =>
  storeFacts(gateway.log, ...facts);
const ownRun = (): RunKey => aRun(gateway.org_id);
const wholeRun = async (): Promise<RunKey> => {
  const run = ownRun();
  await store(queued(run), assigned(run), started(run), succeeded(run));
  return run;
};
const receiptOf = async ({ run_id }: RunKey): Promise<Receipt> =>
  JSON.parse((await gateway.cli(['receipt', run_id])).stdout);
const check = async (content: unknown, ...more: readonly string[]): Promise<Result> => {
  const cwd = temporaryFolder();
  await writeFile(join(cwd, 'r.json'), typeof content === 'string' ? content : JSON.stringify(content));
  return runCli(['receipt', 'check', 'r.json', ...more], { cwd });
};
/** Somebody else's, who has no key of the installation. */
const forger = receiptSigner([randomBytes(32).toString('base64')]);
const forged = (changes: Partial<Receipt>): Receipt => {
  const { key: _key, signature: _signature, ...unsigned } = { ...receipt, ...changes };
  return forger.sign(unsigned);
};

describe('a receipt', () => {
  it('proves a run without the service, by its own file', async () => {
    const run = await wholeRun();
    const cwd = temporaryFolder();
    const written = await gateway.cli(['receipt', run.run_id, '--output', 'r.json'], { cwd });
    expect([written.code, written.stderr]).toEqual([0, expect.stringContaining('4 facts of run')]);
    expect((await stat(join(cwd, 'r.json'))).mode & 0o777).toBe(0o600);
    const [key = ''] = (await gateway.cli(['receipt', 'keys'])).stdout.trim().split('\n');
    const checked = await runCli(['receipt', 'check', 'r.json', '--key', key], { cwd });
    expect(checked).toMatchObject({ code: 0, stderr: '' });
    expect(checked.stdout).toMatch(
      new RegExp(
        `^Run ${run.run_id} was success at .*Z: 4 facts, whole and unaltered.\\nSigned with ${key}\\n$`,
      ),
    );
    const laidOut = JSON.stringify(JSON.parse(await readFile(join(cwd, 'r.json'), 'utf8')), null, 2);
    expect(await check(laidOut, '--json')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"whole":true'),
    });
  });

  it('of a run that goes on says how it was', async () => {
    const run = ownRun();
    await store(queued(run), assigned(run));
    expect((await check(await receiptOf(run))).stdout).toContain('was started at');
  });

  it('has no outputs that were deleted, and proves the rest', async () => {
    const run = ownRun();
    const output = {
      id: newUuid(),
      output_id: 'o',
      node_id: null,
      node_meta: null,
      type: null,
      data: { text: ['private'] },
    };
    await store(queued(run), assigned(run), started(run), succeeded(run, [output]), outputsDeleted(run));
    const withheld = await receiptOf(run);
    expect(JSON.stringify(withheld)).not.toContain('private');
    const { code, stdout } = await check(withheld);
    expect([code, stdout]).toEqual([0, expect.stringContaining('Outputs of it were deleted')]);
  });

  it.each<[string, () => Receipt, string]>([
    [
      'a content that was altered',
      () => ({
        ...receipt,
        facts: receipt.facts.map((fact) => ({
          ...fact,
          content: (fact.content ?? '').replace('A10G', 'T4'),
        })),
      }),
      'was altered',
    ],
    [
      'a content with its own new hash',
      () => forged({ facts: altered(0) }),
      'was written behind another content of the fact before it',
    ],
    ['a missing fact', () => forged({ facts: receipt.facts.filter((_, n) => n !== 1) }), 'which is missing'],
    ['a missing beginning', () => forged({ facts: receipt.facts.slice(1) }), 'what came before'],
    [
      'a missing end',
      () => ({ ...receipt, facts: receipt.facts.slice(0, 3) }),
      'the signature is not that of its key',
    ],
    ['another time', () => ({ ...receipt, issued_at: '2026-01-01T00:00:00.000Z' }), 'the signature is not'],
    ['another key', () => ({ ...receipt, key: forger.publicKeys[0] ?? '' }), 'the signature is not'],
    ['no key at all', () => ({ ...receipt, key: 'abc' }), 'the signature is not'],
    ['a key of another kind', () => ({ ...receipt, key: rsaKey() }), 'the signature is not'],
    [
      'a last fact that no run may have',
      () => forged({ facts: altered(3, (text) => text.replace('RunSucceeded', 'RunStarted')) }),
      'is no fact of it',
    ],
  ])('with %s proves nothing', async (_what, make, why) => {
    const { code, stdout } = await check(make());
    expect([code, stdout]).toEqual([1, expect.stringContaining(why)]);
  });

  it('proves a run whose outputs were deleted when the log had nothing of it any more', async () => {
    const { org_id, run_id, facts } = receipt;
    const event = outputsDeleted({ org_id: orgId(org_id), run_id: runId(run_id) });
    const content = JSON.stringify(event);
    const last = {
      sequence: 1_000,
      time: receipt.issued_at,
      subject: runEventSubject(event),
      follows: 0,
      content,
      sha256: hashOf(Buffer.from(content)),
    };
    const withheld = facts.map((fact, n) => (n === 3 ? { ...fact, content: null } : fact));
    expect(await check(forged({ facts: [...withheld, last] }))).toMatchObject({ code: 0 });
    const other = { ...last, content: content.replace('RunOutputsDeleted', 'RunSucceeded') };
    expect((await check(forged({ facts: [...withheld, other] }))).stdout).toContain('follows position 0');
  });

  it('of an archived run also proves that its facts are in their segment', async () => {
    const facts = receipt.facts.map((fact) => ({ ...fact, content: fact.content }));
    const { org_id, run_id } = receipt;
    const fence = `runs.${org_id}.${run_id}.life.>`;
    const leaves = [
      hashOf(randomBytes(3)),
      ...facts.map((fact) => leafOf({ ...fact, fence, expectedSequence: fact.follows })),
    ];
    const segment: ReceiptSegment = {
      first_sequence: 1,
      last_sequence: 100,
      messages: leaves.length,
      root: merkleRoot(leaves),
      facts: facts.map(({ sequence }, n) => ({ sequence, index: n + 1, path: merklePath(leaves, n + 1) })),
    };
    const signed = (changes: Partial<ReceiptSegment> = {}): Receipt => {
      const { key: _key, signature: _signature, ...unsigned } = receipt;
      return forger.sign(unsigned, [{ ...segment, ...changes }]);
    };
    expect(await check(signed())).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('4 facts, whole and unaltered'),
    });
    const otherRoot = await check(signed({ root: hashOf(randomBytes(3)) }));
    expect([otherRoot.code, otherRoot.stdout]).toEqual([
      1,
      expect.stringContaining('is not in the archived'),
    ]);
    const [fact] = segment.facts;
    if (!fact) throw new Error('it has facts');
    const unknown = await check(signed({ facts: [{ ...fact, sequence: 99 }] }));
    expect([unknown.code, unknown.stdout]).toEqual([
      1,
      expect.stringContaining('position 99, which is missing'),
    ]);
    const { archive, ...rest } = signed();
    const altered = { ...rest, archive: { ...archive, segments: [{ ...segment, last_sequence: 101 }] } };
    expect((await check(altered)).stdout).toContain('the signature is not that of its key');
    // Who knows nothing of archives checks the rest.
    expect((await check(rest)).code).toBe(0);
  });

  it('of a forger is told by its key', async () => {
    const copy = forged({});
    expect(await check(copy)).toMatchObject({ code: 0, stderr: expect.stringContaining('Compare the key') });
    expect(await check(copy, '--key', receipt.key)).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('signed with another key'),
    });
  });

  it('proves nothing after any change of a character', () =>
    fc.assert(
      fc.property(fc.nat(), fc.constantFrom('0', '1', 'a', 'Z', '"', ',', ' '), (at, by) => {
        const text = JSON.stringify(receipt);
        const place = at % text.length;
        fc.pre(text[place] !== by);
        const changed = parsed(`${text.slice(0, place)}${by}${text.slice(place + 1)}`);
        fc.pre(JSON.stringify(changed) !== text);
        // Some changes make another text of the same signature: the last character of base64 has bits that mean nothing.
        fc.pre(!isSameBytes(changed));
        expect(Value.Check(Receipt, changed) ? checkReceipt(changed).kind : 'wrong').toBe('wrong');
      }),
    ));

  it('is for admins, of their own organisation, and not of what is gone', async () => {
    const gone = await wholeRun();
    await store(deleted(gone));
    for (const [run, why] of [
      [gone.run_id, 'The run was deleted. (run_deleted, request '],
      [newUuid(), 'Run not found. Check the id.'],
    ] as const)
      expect(await gateway.cli(['receipt', run])).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(why),
      });
    const cwd = temporaryFolder();
    expect(await runCli(['receipt', 'check', 'none'], { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('none cannot be read: ENOENT'),
    });
    expect(await check('{}')).toMatchObject({ code: 2, stderr: expect.stringContaining('is no receipt') });
  });
});

const altered = (
  at: number,
  change = (text: string) => text.replace('box', 'xob').replace('A10G', 'T4'),
): Receipt['facts'] =>
  receipt.facts.map((fact, n) => {
    if (n !== at) return fact;
    const content = change(fact.content ?? '');
    return { ...fact, content, sha256: hashOf(new TextEncoder().encode(content)) };
  });
const rsaKey = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .publicKey.export({ format: 'der', type: 'spki' })
    .toString('base64url');
const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
const isSameBytes = (changed: unknown): boolean =>
  Value.Check(Receipt, changed) &&
  Buffer.from(changed.signature, 'base64url').equals(Buffer.from(receipt.signature, 'base64url')) &&
  Buffer.from(changed.key, 'base64url').equals(Buffer.from(receipt.key, 'base64url')) &&
  JSON.stringify({ ...changed, signature: '', key: '' }) ===
    JSON.stringify({ ...receipt, signature: '', key: '' });
