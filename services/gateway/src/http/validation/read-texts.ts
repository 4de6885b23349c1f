import type { TObject, TSchema } from 'typebox';
import { own } from './node.ts';

/** The texts under a name: of a query, a path or headers. None when the name is not there. */
export type TextSource = (name: string) => readonly string[];

/**
 * Reads texts as what a schema says that they are. What cannot be read stays text, which the schema then refuses. Of a
 * name that comes several times the last one counts, but for lists, whose members may also stand between commas.
 */
export const readTexts = (schema: TObject, source: TextSource): Record<string, unknown> => {
  const read: [string, unknown][] = [];
  for (const [name, member] of Object.entries(schema.properties)) {
    const texts = source(name);
    const last = texts.at(-1);
    if (last === undefined) continue;
    const isList = own(member, 'type') === 'array';
    read.push([name, isList ? texts.flatMap(partsOf) : readText(member, last)]);
  }
  return Object.fromEntries(read);
};

/** What Node and Koa give for a name: a text, several, or nothing. */
export const textsOf = (value: unknown): readonly string[] =>
  [value].flat().filter((text): text is string => typeof text === 'string');

const partsOf = (text: string): string[] => text.split(',').map((part) => part.trim());

const INTEGER = /^[+-]?\d{1,15}$/;
const NUMBER = /^[+-]?\d{1,15}(?:\.\d{1,15})?$/;

const readText = (schema: TSchema, text: string): unknown => {
  switch (own(schema, 'type')) {
    case 'integer':
      return INTEGER.test(text) ? Number(text) : text;
    case 'number':
      return NUMBER.test(text) ? Number(text) : text;
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text;
    default:
      return own(schema, 'format') === 'uuid' ? text.toLowerCase() : text;
  }
};
