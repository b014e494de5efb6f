/** Rows of the route list that this node does not serve yet, by path, with the part of a node that they wait for. */
export const NOT_SERVED: Readonly<Record<string, string>> = {
  '/loggers': 'log levels at run time',
  '/loggers/{exp}': 'log levels at run time',
  '/loggers/{exp}/{verbosity}': 'log levels at run time',
};
