import { randomBytes } from 'node:crypto';
import { newUuid } from '@runledger/contracts/ids';
import type { JsMsg } from '@nats-io/jetstream';
import { callBroker } from '@runledger/event-log/connect/broker-call';
import { lastMessage } from '@runledger/event-log/read/leader-read';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { publish, type Published } from '@runledger/event-log/append/publish';
import { pullInOrder } from '@runledger/event-log/follow/pull-in-order';

const STREAM = 'KV_LEASES';
const ASK_WITHIN_MS = 1_000;
const utf8 = new TextEncoder();
const text = new TextDecoder();

const MEMBER = /^[\w-]+$/;
const KEY = /^(member|partition)\.([\w-]+)$/;

/** A name that is used once. `holder` is for people. */
export const newMemberName = (holder: string): string =>
  `${holder.replaceAll(/[^\w-]/g, '_')}-${randomBytes(6).toString('hex')}`;

/** The name of a member's lease. */
export const membershipLease = (service: string, member: string): string => `${service}.member.${member}`;

interface Claim {
  /** Empty when it was given back. */
  readonly holder: string;
  readonly revision: number;
}

interface Seen {
  readonly revision: number;
  /** On the monotonic clock: when this process saw the revision, or the broker again. */
  readonly since: number;
}

/** What the broker tells of a service's members and of their claims. It may be late, so every write is fenced. */
export interface PartitionRegistry extends AsyncDisposable {
  /** Resolves when the board is told no more. */
  readonly failed: Promise<Error>;
  /** Whether everything that was stored is known. */
  isComplete(): boolean;
  /** All whose membership has not ended, among them those that died and were not noticed yet. */
  members(): string[];
  /** Whether it is certain that a membership has ended, so that what it claims is free. */
  hasEnded(member: string): boolean;
  claim(share: number): Claim | undefined;
  /** Writes a claim, with an empty holder to give it back, over the one at `revision`. The new revision, or false if there is another claim. */
  write(share: number, holder: string, revision: number): Promise<number | false>;
  /** Ends the membership of those that were not heard of for so long. @throws {LogUnavailable} */
  endUnresponsive(ttlMs: number, others: (member: string) => boolean): Promise<void>;
  /** Ends a membership that its holder has lost. @throws {LogUnavailable} */
  end(member: string): Promise<void>;
  /** Asks the broker about holders of claims of whom nothing is known. @throws {LogUnavailable} */
  lookUpHolders(): Promise<void>;
  /** Removes what memberships left behind that ended so long ago that everybody knows. @throws {LogUnavailable} */
  removeEnded(ttlMs: number): Promise<void>;
}

/** @throws {LogUnavailable} at the start */
export const openPartitionRegistry = async (
  log: EventLog,
  service: string,
  onChange: () => void,
): Promise<PartitionRegistry> => {
  const prefix = `$KV.LEASES.${service}.`;
  const members = new Map<string, Seen>();
  const ended = new Map<string, Seen>();
  const claims = new Map<number, Claim>();
  let complete = false;

  const noteMember = (member: string, revision: number, alive: boolean): void => {
    // A name is used once, and what is told may be late.
    if (alive && ended.has(member)) return;
    const wasAlive = members.has(member);
    if (!alive) members.delete(member);
    (alive ? members : ended).set(member, { revision, since: performance.now() });
    if (alive !== wasAlive) onChange();
  };
  const noteClaim = (share: number, claim: Claim): void => {
    const known = claims.get(share);
    // What this process wrote itself it knows before it is told.
    if (known && known.revision >= claim.revision) return;
    claims.set(share, claim);
    if (known?.holder !== claim.holder) onChange();
  };
  const take = async (messages: readonly JsMsg[]): Promise<void> => {
    for (const message of messages) {
      const [, kind, key = ''] = KEY.exec(message.subject.slice(prefix.length)) ?? [];
      const holder = text.decode(message.data);
      if (kind === 'member') noteMember(key, message.seq, holder !== '');
      if (kind === 'partition') {
        noteClaim(Number(key), { holder: MEMBER.test(holder) ? holder : '', revision: message.seq });
      }
      if (message.info.pending > 0 || complete) continue;
      complete = true;
      onChange();
    }
  };
  const store = (subject: string, holder: string, revision: number): Promise<Published> =>
    publish(log, {
      stream: STREAM,
      subject,
      data: utf8.encode(holder),
      id: newUuid(),
      fence: { filter: subject, sequence: revision },
      withinMs: ASK_WITHIN_MS,
    });
  const end = async (member: string): Promise<void> => {
    const known = members.get(member);
    if (!known) return;
    // The broker refuses it when the member was renewed after all.
    const written = await store(`${prefix}member.${member}`, '', known.revision);
    if (written.kind === 'stored') {
      log.logger.warn({ service, member }, 'a member has not been heard of; its shares are free');
      noteMember(member, written.sequence, false);
    } else if (written.head === 0) {
      noteMember(member, 0, false);
    } else {
      members.set(member, { revision: known.revision, since: performance.now() });
    }
  };

  const pulling = await pullInOrder(log, {
    stream: STREAM,
    subjects: [`${prefix}>`],
    // Removals are not told, so after an interruption it is all read again.
    begin: () => {
      complete = false;
      for (const known of [members, ended, claims]) known.clear();
      return { deliver_policy: 'last_per_subject' };
    },
    take,
  });
  // While the broker was away nobody could renew.
  const forgetNoMore = log.onReconnect(() => {
    for (const [member, { revision }] of members) members.set(member, { revision, since: performance.now() });
  });

  return {
    failed: pulling.failed,
    isComplete: () => complete && log.connected(),
    members: () => [...members.keys()],
    hasEnded: (member) => ended.has(member),
    claim: (share) => claims.get(share),
    write: async (share, holder, revision) => {
      const written = await store(`${prefix}partition.${share}`, holder, revision);
      if (written.kind === 'conflict') return false;
      noteClaim(share, { holder, revision: written.sequence });
      return written.sequence;
    },
    endUnresponsive: async (ttlMs, others) => {
      const now = performance.now();
      const silent = [...members].filter(([member, { since }]) => others(member) && now - since >= ttlMs);
      await Promise.all(silent.map(([member]) => end(member)));
    },
    end,
    lookUpHolders: async () => {
      const holders = new Set([...claims.values()].map(({ holder }) => holder));
      const unknown = [...holders].filter((one) => one !== '' && !members.has(one) && !ended.has(one));
      for (const member of unknown) {
        const last = await lastMessage(log, STREAM, `${prefix}member.${member}`, ASK_WITHIN_MS);
        noteMember(member, last?.seq ?? 0, last !== null && last.data.byteLength > 0);
      }
    },
    removeEnded: async (ttlMs) => {
      for (const [member, { revision, since }] of ended) {
        if (performance.now() - since < ttlMs) continue;
        const filter = `${prefix}member.${member}`;
        const upTo = { filter, seq: revision + 1 };
        await callBroker(`removing ${filter}`, () => log.jsm.streams.purge(STREAM, upTo), ASK_WITHIN_MS);
        ended.delete(member);
      }
    },
    [Symbol.asyncDispose]: async () => {
      forgetNoMore();
      await pulling[Symbol.asyncDispose]();
    },
  };
};
