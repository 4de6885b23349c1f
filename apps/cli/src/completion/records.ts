import { ApiKeyList } from '@runledger/contracts/http/api-keys';
import { SecretList } from '@runledger/contracts/http/catalogue/secrets';
import { ExecutorPage } from '@runledger/contracts/http/executors';
import type { Client } from '../command/command-context.ts';
import { type Environment, LOCAL, readContexts } from '../api/connection.ts';
import { RunListResponse } from '../runs/run-response.ts';
import { deployments } from '../catalogue/deployments.ts';
import { schedules } from '../catalogue/named-records.ts';
import { machines } from '../catalogue/machines.ts';
import { readRecord, type RecordKind } from '../catalogue/records.ts';
import { versionsOf, workflows } from '../catalogue/workflows.ts';
import { plain } from '../command/command-error.ts';
import { relativeTime } from '../command/screen.ts';
import type { Candidate, RecordWord, Wanted } from './wanted.ts';

/** As many as one page has. */
const PAGE = 100;
const RUNS = 20;

interface Sources {
  readonly client: () => Promise<Client>;
  readonly env: Environment;
}

type Request = Extract<Wanted, { kind: 'records' }>;

/** The names that begin with what is typed, of records that have one alone; else their ids. */
export const recordCandidates = async (
  sources: Sources,
  { what, typed, prefix, given }: Request,
): Promise<Candidate[]> => {
  const known = await recordsOf(sources, what, given);
  const names = Map.groupBy(known, ({ name }) => name);
  const words = known.map(({ id, name, note }) => {
    const isAlone = name !== null && plain(name) === name && names.get(name)?.length === 1;
    return isAlone && (name.startsWith(typed) || !id.startsWith(typed))
      ? { word: name, note }
      : { word: id, note: [name, note].filter(Boolean).join(', ') };
  });
  return words
    .filter(({ word }) => word.startsWith(typed))
    .map(({ word, note }) => ({ word: `${prefix}${word}`, note: plain(note) }));
};

interface Known {
  readonly id: string;
  /** Null for what has none. */
  readonly name: string | null;
  readonly note: string;
}

const recordsOf = async (
  { client, env }: Sources,
  what: RecordWord,
  given: readonly string[],
): Promise<Known[]> => {
  switch (what) {
    case 'context': {
      const { contexts } = await readContexts(env);
      const stored = Object.entries(contexts).map(([id, { url }]) => ({ id, name: null, note: url }));
      return [...stored, { id: LOCAL, name: null, note: 'the standalone of the folder' }];
    }
    case 'deployment':
      return named(await client(), deployments);
    case 'machine':
      return named(await client(), machines);
    case 'workflow':
      return named(await client(), workflows);
    case 'schedule':
      return named(await client(), schedules);
    case 'key': {
      const { call } = await client();
      const { api_keys } = await call(ApiKeyList, { method: 'GET', path: '/api-keys' });
      return api_keys.map(({ id, name, scopes }) => ({ id, name, note: scopes.join(', ') }));
    }
    case 'secret': {
      const { call } = await client();
      const { secrets } = await call(SecretList, { method: 'GET', path: '/secrets' });
      return secrets.map(({ name, updated_at }) => ({
        id: name,
        name: null,
        note: `set ${relativeTime(updated_at, Date.now())}`,
      }));
    }
    case 'executor': {
      const { call } = await client();
      const page = await call(ExecutorPage, { method: 'GET', path: '/executors', query: { limit: PAGE } });
      return page.executors.map(({ name, state }) => ({ id: name, name: null, note: state }));
    }
    case 'run': {
      const { call } = await client();
      const { runs } = await call(RunListResponse, { method: 'GET', path: '/runs', query: { limit: RUNS } });
      return runs.map(({ id, status, created_at }) => ({
        id,
        name: null,
        note: `${status}, ${relativeTime(created_at, Date.now())}`,
      }));
    }
    case 'version': {
      const opened = await client();
      const [workflow] = given;
      return workflow === undefined ? [] : numbers(opened, await workflows.idOf(opened.call, workflow));
    }
    case 'deployed version': {
      const opened = await client();
      const [deployment] = given;
      if (deployment === undefined) return [];
      return numbers(opened, (await readRecord(opened.call, deployments, deployment)).workflow_id);
    }
  }
};

const named = async <
  Item extends { readonly id: string; readonly name: string; readonly created_at: string },
>(
  { call }: Client,
  { path, readPage }: Pick<RecordKind<Item>, 'path' | 'readPage'>,
): Promise<Known[]> => {
  const { items } = await readPage(call, { method: 'GET', path, query: { limit: PAGE } });
  return items.map(({ id, name, created_at }) => ({
    id,
    name,
    note: `created ${relativeTime(created_at, Date.now())}`,
  }));
};

const numbers = async ({ call }: Client, workflowId: string): Promise<Known[]> => {
  const { path, readPage } = versionsOf(workflowId);
  const { items } = await readPage(call, { method: 'GET', path, query: { limit: PAGE } });
  return items.map(({ id, number, created_at }) => ({
    id,
    name: String(number),
    note: `created ${relativeTime(created_at, Date.now())}`,
  }));
};
