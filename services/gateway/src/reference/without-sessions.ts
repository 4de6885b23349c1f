import type { OpenApiDocument } from '../openapi/document.ts';

type Described = Readonly<Record<string, unknown>>;

/** The document without sessions: the page sends none, so its reader cannot choose it. */
export const withoutSessions = (document: OpenApiDocument): OpenApiDocument => {
  const { securitySchemes, ...components } = document['components'] as Described;
  const { session: _cookie, sessionToken: _token, ...schemes } = securitySchemes as Described;
  const paths = Object.entries(document.paths).map(([path, operations]) => [
    path,
    Object.fromEntries(
      Object.entries(operations).map(([method, operation]) => [method, withoutIn(operation as object)]),
    ),
  ]);
  return {
    ...withoutIn(document),
    components: { ...components, securitySchemes: schemes },
    paths: Object.fromEntries(paths),
  };
};

const withoutIn = <Part extends object>(described: Part): Part =>
  'security' in described && Array.isArray(described.security)
    ? { ...described, security: described.security.filter((one: object) => !('session' in one)) }
    : described;
