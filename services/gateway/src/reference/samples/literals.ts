import type { Json } from './json.ts';

/** How a language writes a JSON value. */
export interface Dialect {
  readonly text: (text: string) => string;
  readonly key: (name: string) => string;
  readonly word: (value: boolean | null) => string;
  readonly indent: string;
  /** Around the members of an object on one line. */
  readonly pad: string;
}

/** Columns that fit beside the navigation of the reference. */
const WIDTH = 88;

/** On one line when it fits behind what is before it, else a member on each line. `depth`: of the line that it begins on. */
export const literalIn =
  (dialect: Dialect) =>
  (value: Json | undefined, depth = 0, before = 0): string => {
    const line = onOneLine(value ?? null, dialect);
    if (line.length + before + depth * dialect.indent.length <= WIDTH) return line;
    return onLines(value ?? null, dialect, depth);
  };

const onOneLine = (value: Json, dialect: Dialect): string => {
  if (typeof value === 'string') return dialect.text(value);
  if (typeof value === 'number') return String(value);
  if (typeof value === 'boolean' || value === null) return dialect.word(value);
  if (Array.isArray(value)) return `[${value.map((item) => onOneLine(item, dialect)).join(', ')}]`;
  const members = Object.entries(value).map(
    ([name, member]) => `${dialect.key(name)}: ${onOneLine(member, dialect)}`,
  );
  return members.length === 0 ? '{}' : `{${dialect.pad}${members.join(', ')}${dialect.pad}}`;
};

const onLines = (value: Json, dialect: Dialect, depth: number): string => {
  if (typeof value !== 'object' || value === null) return onOneLine(value, dialect);
  const literal = literalIn(dialect);
  const begin = dialect.indent.repeat(depth + 1);
  const end = dialect.indent.repeat(depth);
  if (Array.isArray(value)) {
    const items = value.map((item) => `${begin}${literal(item, depth + 1)},\n`);
    return `[\n${items.join('')}${end}]`;
  }
  const members = Object.entries(value).map(([name, member]) => {
    const key = `${dialect.key(name)}: `;
    return `${begin}${key}${literal(member, depth + 1, key.length)},\n`;
  });
  return `{\n${members.join('')}${end}}`;
};
