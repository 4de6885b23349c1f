import { plain } from './plain-text.ts';
import type { Screen } from './screen.ts';

/** A column of a list. Widths are fixed, because a list is printed page by page. The last column needs none. */
export interface Column<Item> {
  readonly title: string;
  readonly width: number;
  readonly of: (item: Item) => string | null;
}

export const headLine = (columns: readonly Column<never>[]): string =>
  aligned(columns.map(({ title, width }) => [title, width]));

export const rowLine = <Item>(columns: readonly Column<Item>[], item: Item): string =>
  aligned(columns.map(({ width, of }) => [of(item) ?? '-', width]));

const aligned = (cells: readonly (readonly [text: string, width: number])[]): string =>
  cells
    .map(([text, width]) => plain(text).padEnd(width))
    .join('  ')
    .trimEnd();

/** One row for each member of an object. Members that are null are left out. */
export type Rows = readonly (readonly [name: string, value: string | null])[];

export const printRows = (screen: Screen, rows: Rows): void => {
  const known = rows.filter(([, value]) => value !== null);
  const width = Math.max(...known.map(([name]) => name.length));
  for (const [name, value] of known) screen.print(`${name.padEnd(width)}  ${plain(value ?? '')}`);
};
