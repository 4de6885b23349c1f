import { describe, expect, it } from 'vitest';
import { metricsIn } from './promql.ts';
import { readAlerts, readBoard, readQueries, type Panel } from './monitored-metrics.ts';

const overlaps = (one: Panel, other: Panel): boolean => {
  const [a, b] = [one.gridPos, other.gridPos];
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
};

describe('the board', () => {
  it('uses the data source that its reader chooses, and no fixed installation', async () => {
    const { panels, templating, ...board } = await readBoard();
    expect(templating.list).toMatchObject([{ name: 'datasource', type: 'datasource' }]);
    const queried = panels.filter(({ type }) => type !== 'row');
    expect(new Set(queried.map(({ datasource }) => datasource?.uid))).toEqual(new Set(['${datasource}']));
    expect(board).not.toHaveProperty('id');
    expect(board.schemaVersion).toBeGreaterThanOrEqual(41);
  });

  it('explains each panel, with unique titles, and without overlaps', async () => {
    const { panels } = await readBoard();
    const queried = panels.filter(({ type }) => type !== 'row');
    for (const { title, description = '', targets = [] } of queried) {
      expect(description, title).toMatch(/^[A-Z0-9a-z_].{20,}\.$/);
      expect(targets.length, title).toBeGreaterThan(0);
    }
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const one of panels) expect(panels.filter((other) => overlaps(one, other))).toEqual([one]);
  });
});

describe('an alert', () => {
  it('has a unique name, a problem and an action', async () => {
    const alerts = await readAlerts();
    expect(alerts.length).toBeGreaterThanOrEqual(12);
    expect(new Set(alerts.map(({ alert }) => alert)).size).toBe(alerts.length);
    for (const { alert, annotations } of alerts) {
      expect(alert).toMatch(/^Runledger[A-Za-z]+$/);
      expect(annotations.summary, alert).toMatch(/\.$/);
      expect(annotations.runbook, alert).toMatch(/.{30,}\.$/);
    }
  });

  it('is valid PromQL, like the panels', async () => {
    for (const { expression } of await readQueries()) expect(metricsIn(expression).length).toBeGreaterThan(0);
  });
});
