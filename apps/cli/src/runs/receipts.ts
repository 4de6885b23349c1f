import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { compiledSchema } from '@runledger/contracts/compiled-schema';
import { counted } from '@runledger/contracts/events/fact-sentence';
import { isDeleted, type RunState } from '@runledger/contracts/fold/run';
import { Receipt, ReceiptKeys, type ReceiptFact } from '@runledger/contracts/http/receipts';
import { parseJson } from '@runledger/contracts/json';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { readChain } from '@runledger/contracts/fold/read-chain';
import { orgId, runId } from '@runledger/contracts/ids';
import { hashOf } from '@runledger/event-log/append/previous-hash';
import { leafOf, rootOfPath } from '@runledger/event-log/read/merkle';
import { isSigned } from '@runledger/webhooks/receipt-signer';
import type { Client } from '../command/command-context.ts';
import { ANSWER_WITHIN_MS, at } from '../api/api-call.ts';
import { CommandError, EXIT, type ExitCode, plain } from '../command/command-error.ts';
import { writeOutput } from '../command/write-output.ts';
import type { Screen } from '../command/screen.ts';

/** Writes a receipt of a run to a file, or prints it. */
export const getReceipt = async (
  { call, screen, cwd }: Client,
  run: string,
  output: string | undefined,
): Promise<ExitCode> => {
  const receipt = await call(Receipt, {
    method: 'GET',
    path: at`/run/${run}/receipt`,
    answerWithinMs: ANSWER_WITHIN_MS,
  });
  if (output === undefined) screen.printJson(receipt);
  else {
    const target = { kind: 'file', path: resolve(cwd, output) } as const;
    await writeOutput(target, [`${JSON.stringify(receipt)}\n`]);
    screen.hint(
      `${counted(receipt.facts.length, 'fact')} of run ${receipt.run_id}. Check it with: runledger receipt check ${plain(output)}`,
    );
  }
  return EXIT.done;
};

/** Prints the public keys of the receipts of this installation. */
export const receiptKeys = async ({ call, screen }: Client, json: boolean): Promise<ExitCode> => {
  const { keys } = await call(ReceiptKeys, { method: 'GET', path: '/receipt-keys' });
  for (const key of keys)
    if (json) screen.printJson({ key });
    else screen.print(plain(key));
  return EXIT.done;
};

/** Checks the receipt in a file. It needs no connection. `key`: the only one that may have signed it. */
export const checkReceiptFile = async (
  { screen, cwd }: { readonly screen: Screen; readonly cwd: string },
  file: string,
  { key, json = false }: { readonly key?: string; readonly json?: boolean },
): Promise<ExitCode> => {
  const receipt = await readReceipt(resolve(cwd, file), file);
  const checked = checkReceipt(receipt);
  const why =
    checked.kind === 'wrong'
      ? checked.why
      : key !== undefined && key !== receipt.key
        ? 'it is signed with another key than the given one'
        : undefined;
  const { run_id, issued_at, facts } = receipt;
  if (why !== undefined) {
    if (json) screen.printJson({ run_id, whole: false, why });
    else screen.print(`The receipt of run ${run_id} proves nothing: ${plain(why)}.`);
    return EXIT.negative;
  }
  const run = checked.kind === 'whole' ? checked.run : undefined;
  const status = run && !isDeleted(run) ? run.status : null;
  if (json)
    screen.printJson({ run_id, whole: true, status, facts: facts.length, issued_at, key: receipt.key });
  else {
    screen.print(
      `Run ${run_id}${status === null ? '' : ` was ${status}`} at ${issued_at}: ${counted(facts.length, 'fact')}, whole and unaltered.`,
    );
    if (checked.kind === 'whole' && checked.withheld > 0)
      screen.print('Outputs of it were deleted, so the fact with them is not in the receipt. Its hash is.');
    screen.print(`Signed with ${plain(receipt.key)}`);
    if (key === undefined)
      screen.hint('Compare the key with: runledger receipt keys, or give it with --key.');
  }
  return EXIT.done;
};

const ReceiptCheck = compiledSchema(Receipt);

const readReceipt = async (path: string, file: string): Promise<Receipt> => {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new CommandError(`${plain(file)} cannot be read: ${messageOf(error)}.`);
  });
  const receipt = parseJson(text);
  if (ReceiptCheck.Check(receipt)) return receipt;
  throw new CommandError(
    `${plain(file)} is no receipt of this format. Make one with: runledger receipt RUN --output FILE`,
  );
};

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

type CheckedReceipt =
  /** `run`: as its facts say it was; undefined when not all contents are in the receipt. */
  | { readonly kind: 'whole'; readonly run: RunState | undefined; readonly withheld: number }
  /** In words. */
  | { readonly kind: 'wrong'; readonly why: string };

const wrong = (why: string): CheckedReceipt => ({ kind: 'wrong', why });

/** Whether the receipt is signed, its facts are unaltered, and none is missing. */
export const checkReceipt = (receipt: Receipt): CheckedReceipt => {
  const { facts } = receipt;
  for (const [n, fact] of facts.entries()) {
    const before = facts[n - 1];
    const at = `the fact at position ${fact.sequence}`;
    // The log held nothing of the run any more when its outputs were deleted.
    if (before && fact.follows === 0 && isOutputsDeleted(fact)) continue;
    if (fact.follows !== (before?.sequence ?? 0))
      return wrong(
        before
          ? `${at} follows position ${fact.follows}, which is missing`
          : `what came before ${at} is missing`,
      );
    if (fact.content === null) continue;
    if (hashOf(new TextEncoder().encode(fact.content)) !== fact.sha256)
      return wrong(`the content of ${at} was altered: it has another hash`);
    const previous = previousOf(fact.content);
    if (before && previous !== before.sha256)
      return wrong(
        previous === undefined
          ? `${at} does not have the hash of the fact before it`
          : `${at} was written behind another content of the fact before it: one of the two was altered`,
      );
  }
  const unproven = unprovenIn(receipt);
  if (unproven !== undefined) return wrong(unproven);
  if (!isSigned(receipt)) return wrong('the signature is not that of its key: something in it was altered');
  const withheld = facts.filter(({ content }) => content === null).length;
  return withheld > 0 ? { kind: 'whole', run: undefined, withheld } : folded(receipt);
};

/** Of a client that deleted them later; its hash is checked as that of each fact. */
const isOutputsDeleted = ({ content, sha256 }: ReceiptFact): boolean => {
  const body = parseJson(content ?? '');
  const isOfType =
    typeof body === 'object' && body !== null && 'type' in body && body.type === 'RunOutputsDeleted';
  return isOfType && hashOf(new TextEncoder().encode(content ?? '')) === sha256;
};

/** What its part about the archive does not prove, in words. */
const unprovenIn = ({ run_id, org_id, facts, archive }: Receipt): string | undefined => {
  const fence = RUN_CHAIN.filterOf({ org_id: orgId(org_id), run_id: runId(run_id) });
  const known = new Map(facts.map((fact) => [fact.sequence, fact]));
  for (const { messages: leaves, root, facts: archived } of archive?.segments ?? []) {
    for (const { sequence, index, path } of archived) {
      const fact = known.get(sequence);
      if (!fact) return `the archive names the fact at position ${sequence}, which is missing`;
      const leaf = leafOf({ ...fact, fence, expectedSequence: fact.follows });
      if (rootOfPath(leaf, { index, leaves, path }) !== root)
        return `the fact at position ${sequence} is not in the archived segment that it names`;
    }
  }
  return undefined;
};

const previousOf = (content: string): unknown => {
  const body = parseJson(content);
  return typeof body === 'object' && body !== null && 'previous_sha256' in body
    ? body.previous_sha256
    : undefined;
};

const folded = ({ org_id, run_id, facts }: Receipt): CheckedReceipt => {
  const fence = RUN_CHAIN.filterOf({ org_id: orgId(org_id), run_id: runId(run_id) });
  const messages: StoredMessage[] = facts.map(({ sequence, time, subject, follows, content }) => ({
    sequence,
    time,
    subject,
    fence,
    expectedSequence: follows,
    body: parseJson(content ?? ''),
  }));
  const read = readChain(RUN_CHAIN, messages);
  switch (read.kind) {
    case 'whole': {
      const [refused] = read.refused;
      if (refused)
        return wrong(`the message at ${refused.message.sequence} is no fact of it: ${refused.why}`);
      return { kind: 'whole', run: read.history.state, withheld: 0 };
    }
    case 'gap':
      return wrong(`the fact at position ${read.sequence} follows ${read.expected}, which is missing`);
    case 'newer_version':
      return wrong(
        `a later release wrote ${read.type} in version ${read.version}: check it with that release`,
      );
  }
};
