import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { readChain } from '@runledger/contracts/fold/read-chain';
import type { RunState } from '@runledger/contracts/fold/run';
import type { Receipt, ReceiptFact } from '@runledger/contracts/http/receipts';
import { orgId, runId } from '@runledger/contracts/ids';
import { parseJson } from '@runledger/contracts/json';
import { hashOf } from '@runledger/event-log/append/previous-hash';
import { leafOf, rootOfPath } from '@runledger/event-log/archive/merkle';
import { isSigned } from '@runledger/webhooks/signing/receipt-signer';

export type CheckedReceipt =
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
