import type { TObject } from 'typebox';
import { own } from './node.ts';

/** The texts under a name of a query, a path or headers; empty when the name is missing. */
export type TextSource = (name: string) => readonly string[];

/**
 * Parses texts as a schema describes them. A text that cannot be parsed stays a text, which the schema then refuses. Of a
 * repeated name the last one counts. Lists take all of them, and also split texts at commas.
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

/** Node and Koa give a text, several, or nothing for a name. */
export const textsOf = (value: unknown): readonly string[] => {
  if (value === undefined) return NONE;
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((text): text is string => typeof text === 'string') : NONE;
};

const NONE: readonly string[] = [];

const partsOf = (text: string): string[] => text.split(',').map((part) => part.trim());

const INTEGER = /^[+-]?\d+(?:\.0+)?$/;
const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
  ['1', true],
  ['0', false],
]);

/** As pydantic parses them, except its many words for yes and no. Python writes `True` and `False`. */
const readText = (schema: unknown, text: string): unknown => {
  switch (own(schema, 'type')) {
    case 'integer':
      return numberIn(text, INTEGER);
    case 'number':
      return numberIn(text, NUMBER);
    case 'boolean':
      return BOOLEANS.get(text.toLowerCase()) ?? text;
    default:
      return own(schema, 'format') === 'uuid' ? text.toLowerCase() : text;
  }
};

const numberIn = (text: string, form: RegExp): unknown => {
  const trimmed = text.trim();
  const number = form.test(trimmed) ? Number(trimmed) : Infinity;
  return Number.isFinite(number) ? number : text;
};
