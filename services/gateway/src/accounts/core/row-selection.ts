import type { Field, Row, RowTable } from './row-tables.ts';

/** A condition of the authentication library. All of a list have to hold. */
export interface Condition {
  readonly field: string;
  /** `eq` when left out. */
  readonly operator?: string | undefined;
  readonly value: unknown;
  readonly connector?: string | undefined;
}

/** How the rows that conditions may match are found without a look at all rows. */
export type Selection =
  | { readonly by: 'id'; readonly id: string }
  | { readonly by: 'unique'; readonly values: readonly string[] }
  | { readonly by: 'owner'; readonly owner: string };

/**
 * The bounded read that finds every row which the conditions match; `matches` then decides about each.
 * @throws TypeError when only a look at all rows would find them
 */
export const selectionOf = (table: RowTable, where: readonly Condition[]): Selection => {
  const valueOf = (field: string): string | undefined => {
    const found = where.find((one) => one.field === field && (one.operator ?? 'eq') === 'eq');
    return typeof found?.value === 'string' ? found.value : undefined;
  };
  if (where.length > 1 && where.some(({ connector }) => connector === 'OR')) throw notBounded(table, where);
  const id = valueOf('id');
  if (id !== undefined) return { by: 'id', id };
  const values = table.unique.flatMap((field) => valueOf(field) ?? []);
  if (values.length === table.unique.length) return { by: 'unique', values };
  const owner = table.owner === undefined ? undefined : valueOf(table.owner);
  if (owner !== undefined) return { by: 'owner', owner };
  throw notBounded(table, where);
};

/** Whether a row fits all conditions. A secret was compared when the row was found. */
export const matches = (table: RowTable, row: Row, where: readonly Condition[]): boolean =>
  where.every((one) => one.field === table.secret || holds(one, row[one.field] ?? null));

const holds = ({ field, operator = 'eq', value: given }: Condition, stored: Field): boolean => {
  switch (operator) {
    case 'eq':
      return stored === given;
    case 'ne':
      return stored !== given;
    case 'in':
      return Array.isArray(given) && given.includes(stored);
    case 'gt':
      return compared(stored, given) > 0;
    case 'gte':
      return compared(stored, given) >= 0;
    case 'lt':
      return compared(stored, given) < 0;
    case 'lte':
      return compared(stored, given) <= 0;
    default:
      throw new TypeError(
        `The accounts cannot compare ${field} with ${operator}. Add the operator to row-selection.ts.`,
      );
  }
};

/** Times are texts that sort as they follow each other. NaN, which no condition accepts, for anything else. */
const compared = (stored: Field, given: unknown): number => {
  if (typeof stored !== 'string' || typeof given !== 'string') return Number.NaN;
  return stored === given ? 0 : stored < given ? -1 : 1;
};

const notBounded = ({ name }: RowTable, where: readonly Condition[]): TypeError =>
  new TypeError(
    `Rows of ${name} are found by id, by unique fields or by their owner, not by ${where.map(({ field }) => field).join(', ') || 'nothing'}: add what the feature needs to row-tables.ts.`,
  );
