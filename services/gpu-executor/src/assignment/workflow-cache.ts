import { untilAborted } from '@runledger/resilience/abort';
import { LRUCache } from 'lru-cache';
import type { FetchedText } from './fetch-text.ts';

/** The texts of workflows that this executor has fetched. */
export interface WorkflowCache {
  /** `fetch` is called unless the text is there, or another attempt that fetches it now succeeds. */
  get(workflow: WorkflowName, fetch: () => Promise<FetchedText>, stop: AbortSignal): Promise<FetchedText>;
}

/** Organisations share nothing. */
interface WorkflowName {
  readonly org_id: string;
  readonly sha256: string;
}

/** Keeps at most `maxBytes`, and evicts the least recently used workflow first. */
export const workflowCache = (maxBytes: number): WorkflowCache => {
  const texts =
    maxBytes > 0
      ? new LRUCache<string, Buffer>({ maxSize: maxBytes, sizeCalculation: (text) => text.byteLength })
      : undefined;
  const fetches = new Map<string, Promise<FetchedText>>();

  return {
    get: async ({ org_id, sha256 }, fetch, stop) => {
      const key = `${org_id}.${sha256}`;
      while (!stop.aborted) {
        const text = texts?.get(key);
        if (text) return { kind: 'fetched', text };
        const others = fetches.get(key);
        if (!others) {
          const own = fetch()
            .then((fetched) => {
              if (fetched.kind === 'fetched') texts?.set(key, fetched.text);
              return fetched;
            })
            .finally(() => fetches.delete(key));
          fetches.set(key, own);
          return own;
        }
        const shared = await untilAborted(
          others.catch(() => undefined),
          stop,
        );
        if (shared?.kind === 'fetched') return shared;
        // The other attempt was stopped or refused. This one asks with a token of its own.
      }
      return { kind: 'stopped' };
    },
  };
};
