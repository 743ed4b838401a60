"""What everything stands on: arrays, values and their files, tables of names, linear algebra."""
