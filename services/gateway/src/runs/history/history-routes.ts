import type { Route } from '../../http/operation.ts';
import { historyRoute } from './history-route.ts';
import { historySource, type HistorySourceOptions } from './history-source.ts';
import { pictureRoute, type PictureRoute } from './picture-route.ts';
import { readHistory, type ReadHistoryOptions } from './read-history.ts';

export type HistoryRoutes = HistorySourceOptions &
  Omit<ReadHistoryOptions, 'source'> &
  Pick<PictureRoute, 'now'>;

/** What happened to a run, as text and as a picture. */
export const historyRoutes = ({ log, read, current, now, ...parts }: HistoryRoutes): Route[] => {
  const source = historySource({ log, read, current });
  return [historyRoute({ history: readHistory({ source, ...parts }) }), pictureRoute({ source, now })];
};
