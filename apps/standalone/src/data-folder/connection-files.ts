import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Type } from 'typebox';
import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { codeOf, messageOf } from '@runledger/resilience/errors';

/** The default name of the data folder. */
export const DATA_FOLDER = '.runledger';

/** `connection.json`: how a client reaches a standalone. It exists while the standalone is ready. */
export const Connection = Type.Object({
  /** With the base path. */
  url: Type.String({ minLength: 1 }),
  api_key: Type.String({ minLength: 1 }),
  /** Of the sample. */
  deployment_id: Type.String({ minLength: 1 }),
  /** The signing secret of the sample's organisation: after a rotation the new one. */
  webhook_secret: Type.String({ minLength: 1 }),
});
export type Connection = Static<typeof Connection>;
export const CONNECTION_FILE = 'connection.json';

/** `operator.json`: the operator's credentials for the broker. */
export const Operator = Type.Object({
  nats_url: Type.String({ minLength: 1 }),
  /** The seed of its key. */
  nats_nkey: Type.String({ minLength: 1 }),
});
export type Operator = Static<typeof Operator>;
export const OPERATOR_FILE = 'operator.json';

export type ReadFile<Content> =
  | { readonly kind: 'found'; readonly path: string; readonly content: Content }
  | { readonly kind: 'missing'; readonly path: string }
  | { readonly kind: 'unusable'; readonly path: string; readonly why: string };

export const readConnectionFile = (folder: string): Promise<ReadFile<Connection>> =>
  readJsonFile(join(folder, CONNECTION_FILE), Connection);

export const readOperatorFile = (folder: string): Promise<ReadFile<Operator>> =>
  readJsonFile(join(folder, OPERATOR_FILE), Operator);

/** Reads a JSON file that matches the schema. */
export const readJsonFile = async <Schema extends TSchema>(
  path: string,
  schema: Schema,
): Promise<ReadFile<Static<Schema>>> => {
  try {
    const content: unknown = JSON.parse(await readFile(path, 'utf8'));
    if (Value.Check(schema, content)) return { kind: 'found', path, content };
    return { kind: 'unusable', path, why: 'a member is missing or invalid' };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { kind: 'missing', path };
    return { kind: 'unusable', path, why: messageOf(error) };
  }
};
