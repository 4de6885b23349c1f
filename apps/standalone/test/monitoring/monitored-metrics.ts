import { readFile } from 'node:fs/promises';
import { Type, type Static, type TSchema } from 'typebox';
import { Parse } from 'typebox/value';
import { parse } from 'yaml';

const Panel = Type.Object({
  id: Type.Integer(),
  type: Type.String(),
  title: Type.String(),
  description: Type.Optional(Type.String()),
  datasource: Type.Optional(Type.Object({ type: Type.String(), uid: Type.String() })),
  gridPos: Type.Object({ x: Type.Integer(), y: Type.Integer(), w: Type.Integer(), h: Type.Integer() }),
  targets: Type.Optional(Type.Array(Type.Object({ expr: Type.String(), legendFormat: Type.String() }))),
});
export type Panel = Static<typeof Panel>;

const Board = Type.Object({
  title: Type.String(),
  schemaVersion: Type.Integer(),
  panels: Type.Array(Panel),
  templating: Type.Object({ list: Type.Array(Type.Object({ name: Type.String(), type: Type.String() })) }),
});

const Alert = Type.Object({
  alert: Type.String(),
  expr: Type.String(),
  labels: Type.Object({ severity: Type.Union([Type.Literal('page'), Type.Literal('ticket')]) }),
  annotations: Type.Object({ summary: Type.String(), runbook: Type.String() }),
});
const Alerts = Type.Object({ groups: Type.Array(Type.Object({ rules: Type.Array(Alert) })) });

const read = async <Schema extends TSchema>(
  schema: Schema,
  file: string,
  parsed: (text: string) => unknown,
): Promise<Static<Schema>> =>
  Parse(schema, parsed(await readFile(new URL(`../../../../deploy/${file}`, import.meta.url), 'utf8')));

export const readBoard = (): Promise<Static<typeof Board>> =>
  read(Board, 'grafana/runledger.json', (text) => JSON.parse(text));

export const readAlerts = async (): Promise<Static<typeof Alert>[]> =>
  (await read(Alerts, 'prometheus/alerts/runledger.yml', (text) => parse(text))).groups.flatMap(
    ({ rules }) => rules,
  );

/** An expression, and the labels that its result shows. */
export interface Query {
  readonly where: string;
  readonly expression: string;
  readonly shown: readonly string[];
}

/** All expressions of the board and the alerts. */
export const readQueries = async (): Promise<Query[]> => {
  const { panels } = await readBoard();
  const ofPanels = panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, legendFormat }) => ({
      where: `panel "${title}"`,
      expression: expr,
      shown: namesIn(legendFormat, /\{\{\s*(\w+)\s*\}\}/g),
    })),
  );
  const ofAlerts = (await readAlerts()).map(({ alert, expr, annotations }) => ({
    where: `alert ${alert}`,
    expression: expr,
    shown: namesIn(annotations.summary, /\$labels\.(\w+)/g),
  }));
  return [...ofPanels, ...ofAlerts];
};

const namesIn = (text: string, name: RegExp): string[] =>
  [...text.matchAll(name)].flatMap(([, found]) => found ?? []);
