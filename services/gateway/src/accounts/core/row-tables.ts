import { Type, type Static } from 'typebox';

/** A row of the authentication library: its fields by their names. Times are ISO 8601. */
export const Row = Type.Record(
  Type.String({ pattern: '^[A-Za-z_]{1,64}$' }),
  Type.Union([Type.String({ maxLength: 4_096 }), Type.Number(), Type.Boolean(), Type.Null()]),
);
export type Row = Static<typeof Row>;
export type Field = Row[string];

/** Which rows a kind has. */
export interface RowTable {
  readonly name: TableName;
  /** No two rows agree in all of these, which never change. */
  readonly unique: readonly string[];
  /** The field that names the person whose row it is. Their rows can be listed. */
  readonly owner?: string;
  /** A field that is stored as a hash: whoever reads the bucket cannot use it. */
  readonly secret?: string;
}

export type TableName = 'user' | 'session' | 'account';

export const TABLES: Readonly<Record<TableName, RowTable>> = {
  user: { name: 'user', unique: ['email'] },
  session: { name: 'session', unique: ['token'], owner: 'userId', secret: 'token' },
  account: { name: 'account', unique: ['providerId', 'accountId'], owner: 'userId' },
};

/** @throws TypeError for a table that the library has only with features that we do not use */
export const tableOf = (name: string): RowTable => {
  const table = Object.values(TABLES).find((one) => one.name === name);
  if (table) return table;
  throw new TypeError(
    `The accounts have no table ${name}. A feature of better-auth needs it: describe it in row-tables.ts, or do not use the feature.`,
  );
};
