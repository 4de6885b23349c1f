import { explainNoAnswer } from '../api-client/api-problem.ts';
import type { ApiConnection } from '../api-client/connection.ts';
import { forgottenBasePath } from '../http/base-path.ts';
import { CommandError } from '../output/command-error.ts';

/** The connection with `/api` behind its URL if a person forgot it. @throws CommandError without an answer */
export const withBasePath = async (connection: ApiConnection): Promise<ApiConnection> => {
  const completed = await forgottenBasePath(connection.url).catch((error: unknown) => {
    throw new CommandError(explainNoAnswer(connection, error));
  });
  return completed === undefined ? connection : { ...connection, url: completed };
};
